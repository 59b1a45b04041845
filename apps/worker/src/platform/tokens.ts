// Injection tokens for values that have no class and that several folders of the worker use. A token that only one folder
// uses is declared beside the class that injects it.

/** The parsed environment (`WorkerConfig`). */
export const WORKER_CONFIG = Symbol('configuration of the worker');
/**
 * BullMQ's own connection to Redis. Its commands wait until Redis answers. Commands of the `Redis` connection fail at once.
 */
export const QUEUE_REDIS = Symbol('queue connection to Redis');
/** Kafka's admin client (`KafkaAdmin`). It stays connected, because each assignment of partitions queries offsets. */
export const KAFKA_ADMIN = Symbol('Kafka admin');
/** Function that ends the process after a fault from which it cannot recover (`(reason: string) => void`). */
export const FATAL = Symbol('fatal fault');
