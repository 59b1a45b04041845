import type { Shard } from '@relay/redis';

export const DELIVERIES_QUEUE = 'deliveries';
export const DEAD_LETTERS_QUEUE = 'dead-letters';
/** Field of a job that was put back: when it is due in epoch milliseconds, which BullMQ forgets as soon as the job is due. */
export const DUE_FIELD = 'dueAt';

/** Options of every BullMQ object of a shard. */
export const bullOptions = ({ redis, tag }: Shard) => ({ connection: redis, prefix: tag });
