import { parseDeliveryId } from '@relay/delivery';
import type { Shard } from '@relay/redis';

export const DELIVERIES_QUEUE = 'deliveries';
export const DEAD_LETTERS_QUEUE = 'dead-letters';
/** Field of a job that was put back: when it is due in epoch milliseconds, which BullMQ forgets as soon as the job is due. */
export const DUE_FIELD = 'dueAt';

/** Options of every BullMQ object of a shard. */
export const bullOptions = ({ redis, tag }: Shard) => ({ connection: redis, prefix: tag });

/** BullMQ's sorted set of delayed jobs multiplies the time by this and adds a counter (BullMQ's getDelayedScore.lua). */
export const STEPS = 0x1000;

/** Returns when a delayed job is due, in epoch milliseconds, from its score. */
export const dueTimeOf = (score: string): number => Math.floor(Number(score) / STEPS);

/** Returns the lowest score of a job that is due after this time. */
export const scoreOf = (at: number): number => (Math.floor(at) + 1) * STEPS;

/** Returns when a delayed job of a queue is due, in epoch milliseconds; undefined if it is not delayed. */
export async function dueTime(shard: Shard, queue: string, id: string): Promise<number | undefined> {
  const score = await shard.redis.zscore(shard.key(queue, 'delayed'), id);
  return score === null ? undefined : dueTimeOf(score);
}

/** Returns the envelope of a job or dead letter, by its id; '' for an id that is no delivery's. */
export const envelopeIdOf = (id: string): string => parseDeliveryId(id)?.envelopeId ?? '';

/** Key of one envelope's set of jobs (`w:<id>`) and dead letters (`d:<id>`). */
export const ofEnvelopeKey = (shard: Shard, ...envelopeId: readonly string[]): string =>
  shard.key('unsettled', ...envelopeId);
/** A day longer than a dead letter is kept: entries that a crash left behind expire, and readers skip removed dead letters. */
export const INDEXED_S = 31 * 86_400;
