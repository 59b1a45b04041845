import { parseDeliveryId } from '@relay/delivery';
import type { PerShard, Shard, Shards } from '@relay/redis';
import { reasonOf, type LogFields, type ThrottledLog } from '@relay/telemetry';
import type { Queue } from 'bullmq';

/** Injection token of the shards over connections for BullMQ, which wait for Redis (`Shards`). */
export const QUEUE_SHARDS = Symbol('shards over queue connections');

export const DELIVERIES_QUEUE = 'deliveries';
export const DEAD_LETTERS_QUEUE = 'dead-letters';
/** Field of a job that was put back: when it is due in epoch milliseconds, which BullMQ forgets as soon as the job is due. */
export const DUE_FIELD = 'dueAt';

/** Options of every BullMQ object of a shard. */
export const bullOptions = ({ redis, tag }: Shard) => ({ connection: redis, prefix: tag });

/**
 * A BullMQ queue that is opened when it is first used: an app that rarely touches a queue neither loads BullMQ at its start nor
 * keeps the 13 MiB that it takes.
 */
export class LazyQueue {
  #opened?: Promise<Queue>;

  /** @param shard with a connection that waits for Redis */
  constructor(
    private readonly name: string,
    readonly shard: Shard,
  ) {}

  open(): Promise<Queue> {
    return (this.#opened ??= this.#load());
  }

  async #load(): Promise<Queue> {
    const { Queue } = await import('bullmq');
    const queue = new Queue(this.name, bullOptions(this.shard));
    // The connection itself reports its faults, once.
    queue.on('error', () => undefined);
    return queue;
  }

  /** Makes a delayed job due after this delay; false when it runs, has ended or is due already. */
  async hasten(id: string, delayMs: number): Promise<boolean> {
    const job = await (await this.open()).getJob(id);
    if (job === undefined || !(await job.isDelayed())) return false;
    try {
      await job.changeDelay(delayMs);
      return true;
    } catch (error) {
      // The job may have begun since; BullMQ refuses then.
      if (await job.isDelayed()) throw error;
      return false;
    }
  }

  /** Makes jobs due at random times within a span, not all at once. @returns how many of them were delayed */
  async hastenAll(ids: readonly string[], spreadMs: number): Promise<number> {
    const hastened = await Promise.all(ids.map((id) => this.hasten(id, Math.random() * spreadMs)));
    return hastened.filter(Boolean).length;
  }

  async close(): Promise<void> {
    await (await this.#opened)?.close();
  }
}

/** A queue in all shards. */
export class ShardQueues {
  readonly #queues: PerShard<LazyQueue>;

  /** @param shards over connections that wait for Redis */
  constructor(name: string, shards: Shards) {
    this.#queues = shards.per((shard) => new LazyQueue(name, shard));
  }

  of(jobId: string): LazyQueue {
    return this.#queues.of(envelopeIdOf(jobId));
  }

  each<T>(ask: (queue: LazyQueue) => Promise<T>): Promise<T[]> {
    return Promise.all(this.#queues.all.map(ask));
  }

  async close(): Promise<void> {
    await this.each((queue) => queue.close());
  }
}

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

/** Repeats a step until the store has confirmed it. Steps must be idempotent. */
export async function untilStored<T>(step: () => Promise<T>, log: ThrottledLog, fields: LogFields): Promise<T> {
  for (let wait = 200; ; wait = Math.min(wait * 2, 5_000)) {
    try {
      return await step();
    } catch (error) {
      log.warn(
        'store.refused',
        'A step could not be stored; the worker repeats it until it is stored, and pauses reading',
        { ...fields, reason: reasonOf(error) },
      );
      await new Promise((done) => {
        setTimeout(done, wait);
      });
    }
  }
}
