// Injection tokens that several folders of the worker use, for values that have no class. A token of one folder is beside the
// class that injects it.

/** The parsed environment (`WorkerConfig`). */
export const WORKER_CONFIG = Symbol('configuration of the worker');
/** BullMQ's own connection to Redis, which waits for Redis; the connection for scripts (`Redis`) fails at once. */
export const QUEUE_REDIS = Symbol('queue connection to Redis');
/** Kafka's admin client (`KafkaAdmin`): connected at the start and kept, because each assignment asks for bounds and commits. */
export const KAFKA_ADMIN = Symbol('Kafka admin');
/** Ends the process, which cannot recover by itself (`(reason: string) => void`). */
export const FATAL = Symbol('fatal fault');
