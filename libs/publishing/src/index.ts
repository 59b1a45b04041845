// Owns the way of a record into Kafka: the Publisher port, the lanes that form batches, and the adapter on kafkajs.
// Guarantees that a resolved publish is stored on every in-sync replica, that records of one topic and key keep the order
// of their calls, that every call is answered within its deadline, that what waits is bounded in bytes, and that no
// publish ever creates a topic. Leaves to others what a record holds (`events`), the making of topics (`kafka`), and
// the removal of repeats (`dedupe`): a failed call may have stored its record.
export { defaultPublisherSettings, KafkaPublisher, type KafkaPublisherSettings } from './kafka-publisher.adapter.js';
export { TracedPublisher } from './traced-publisher.js';
export { Publisher, PublishFailed, type OutgoingRecord, type PublishFailureReason } from './publisher.port.js';
