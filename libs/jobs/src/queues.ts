import { shardPrefix } from '@relay/redis';
import type { Redis } from 'ioredis';

export const DELIVERIES_QUEUE = 'deliveries';
export const DEAD_LETTERS_QUEUE = 'dead-letters';
/** Of a job that was put back, beside BullMQ's fields: epoch milliseconds when it is due, which BullMQ forgets as soon as it is. */
export const DUE_FIELD = 'dueAt';

/** Options of every BullMQ object of ours: one hash slot, and no version probe of its own metrics. */
export const bullOptions = (connection: Redis) => ({ connection, prefix: shardPrefix });
