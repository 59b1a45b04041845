// Owns the driver side of Kafka: clients, producers and group members, the creation and the checks of the relay's topics, reading
// ranges of the log once, fetching records by offset or time, and the consumer lag. No other folder imports the driver.
// Guarantees that records acknowledged with acks=all survive the loss of one broker (with replication above 1), and that creating
// topics again changes nothing.
// Leaves batches, deadlines and repeats of sends to `publishing`, and the offset at which reading begins to the worker.
export { AttemptFinder, readAttempt, EnvelopeFinder } from './finders.adapter.js';
export type { SoughtAttempts, FoundEnvelope, SoughtEnvelope } from './finders.adapter.js';
export { answeredWithin, askedAgain, KeptAdmin, readLag, withAdmin, type TopicLag } from './kept-admin.adapter.js';
export { connectKafka, openProducer } from './kafka-client.adapter.js';
export { assignerOf, GroupConsumer, isOtherDeployment } from './group-consumer.adapter.js';
export { codeOf, hasCode, isDeletionRefused, isTimeout, isUnauthorized, placeOutside } from './kafka-errors.adapter.js';
export { Kafka } from './kafka.port.js';
export type { Acknowledgement, BatchInHand, CommittedOffset, FetchedBatch } from './kafka.port.js';
export type { IdsByTopic, KafkaAdmin, KafkaMessage, KafkaProducer, TopicsOfCluster } from './kafka.port.js';
export { logRecordOf, LogFetcher } from './log-fetcher.adapter.js';
export type { FetchBounds, FetchedPart, LogPlace, LogSlice, Offsets } from './log-fetcher.adapter.js';
export { checkRoom, checkTopics, createTopics, findTopics, readTopicConfigs, configFaults } from './topics.adapter.js';
export {
  createCommand,
  LOG_RETENTION_MS,
  planEnvelopes,
  planTopics,
  topicFaults,
  topicNotes,
} from './topics.adapter.js';
export type { TopicConfigFound, TopicFound, TopicSettings } from './topics.adapter.js';
export { rangesWithin, readRanges, gapsIn } from './topic-reader.adapter.js';
export type { TimeWindow, LogRange, OffsetGap } from './topic-reader.adapter.js';
