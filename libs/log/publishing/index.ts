// Owns publishing to Kafka: the Publisher port, the lanes that form batches, and the adapter for Kafka.
// Guarantees that every in-sync replica has the record of a resolved call, that records of one topic and key keep the order of
// their calls, that every call is answered within its deadline, that waiting records are bounded in bytes, and that no call
// creates a topic. Leaves the content of records to `events`, topics to `kafka`, and duplicates to `dedupe`: a failed call may
// have stored its record.
export { KafkaPublisher, TracedPublisher, type KafkaPublisherSettings } from './kafka-publisher.adapter.js';
export { Publisher, PublishFailed, type OutgoingRecord, type PublishFailureReason } from './publisher.port.js';
