// Owns publishing to Kafka: the port `Publisher`, the lanes that form batches, and the adapter for Kafka.
// Guarantees that, when a call resolves, every in-sync replica has the record; that records of one topic and key are stored
// in the order of their calls; that every call is answered within its deadline; that the memory of waiting records is
// bounded; and that no call creates a topic.
// Leaves to `events` the content of records, to `kafka` the topics, and to `dedupe` the duplicates: a call that failed may
// nevertheless have stored its record.
export { KafkaPublisher, TracedPublisher, type KafkaPublisherSettings } from './kafka-publisher.adapter.js';
export { Publisher, PublishFailed, type OutgoingRecord, type PublishFailureReason } from './publisher.port.js';
