import { shardPrefix } from '@relay/redis';
import type { Redis } from 'ioredis';

export const DELIVERIES_QUEUE = 'deliveries';
export const DEAD_LETTERS_QUEUE = 'dead-letters';
/** Field of a job that was put back: when it is due in epoch milliseconds, which BullMQ forgets as soon as the job is due. */
export const DUE_FIELD = 'dueAt';

/** Options of every BullMQ object: all keys in one hash slot. */
export const bullOptions = (connection: Redis) => ({ connection, prefix: shardPrefix });
