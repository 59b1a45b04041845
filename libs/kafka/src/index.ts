// Owns the driver side of Kafka: clients, the creation and the checks of the relay's topics, reading ranges of the log once,
// fetching records by offset or time, and the consumer lag. Guarantees that records acknowledged with acks=all survive the loss of one broker (with replication above
// 1), and that creating topics again changes nothing. Leaves producing to `publishing` and consuming to the worker.
export { AttemptFinder, readAttempt, type SoughtAttempts } from './attempt-finder.adapter.js';
export { answeredWithin } from './answered-within.js';
export { askedAgain } from './asked-again.adapter.js';
export { connectKafka } from './kafka-client.adapter.js';
export { EnvelopeFinder, type FoundEnvelope, type SoughtEnvelope } from './envelope-finder.adapter.js';
export { KeptAdmin } from './kept-admin.adapter.js';
export { leaderEpochOf, logRecordOf } from './log-record.adapter.js';
export {
  LogFetcher,
  placeOutside,
  type FetchBounds,
  type FetchedPart,
  type LogPlace,
  type LogSlice,
  type Offsets,
} from './log-fetcher.adapter.js';
export type { TopicIds, TopicsOfCluster } from './topic-ids.adapter.js';
export { checkTopics, createTopics, findTopics, readTopicConfigs } from './topics.adapter.js';
export {
  configFaults,
  LOG_RETENTION_MS,
  planTopics,
  topicFaults,
  topicNotes,
  type TopicConfigFound,
  type TopicFound,
  type TopicSettings,
} from './topics.js';
export { rangesWithin, type TimeWindow } from './time-window.adapter.js';
export { readRanges, type LogRange } from './topic-reader.adapter.js';
export { gapsIn, type OffsetGap } from './offset-gaps.js';
export { readLag, type TopicLag } from './consumer-lag.adapter.js';
export { withAdmin } from './with-admin.adapter.js';
