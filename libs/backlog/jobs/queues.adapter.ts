import { parseDeliveryId } from '@relay/delivery';
import type { PerShard, Shard, Shards } from '@relay/redis';
import { reasonOf, type LogFields, type ThrottledLog } from '@relay/telemetry';
import type { Queue } from 'bullmq';

/**
 * Injection token of shards whose connections are for BullMQ. Commands on these connections wait while Redis is unavailable
 * (see `Shards`).
 */
export const QUEUE_SHARDS = Symbol('shards over queue connections');

export const DELIVERIES_QUEUE = 'deliveries';
export const DEAD_LETTERS_QUEUE = 'dead-letters';
/**
 * Field of a job that was put back, with its due time in epoch milliseconds. BullMQ itself deletes the due time once the job
 * is due.
 */
export const DUE_FIELD = 'dueAt';

/** Options for every BullMQ object of a shard. */
export const bullOptions = ({ redis, tag }: Shard) => ({ connection: redis, prefix: tag });

/**
 * A BullMQ queue that is opened at its first use. An app that rarely uses a queue therefore starts without loading BullMQ
 * and saves the 13 MiB of memory that BullMQ takes.
 */
export class LazyQueue {
  #opened?: Promise<Queue>;

  /** @param shard its connection waits while Redis is unavailable */
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
    // The Redis connection already reports its errors once, so they are not reported again here.
    queue.on('error', () => undefined);
    return queue;
  }

  /** Makes a delayed job due after this delay. Returns false if the job is running, has ended or is already due. */
  async hasten(id: string, delayMs: number): Promise<boolean> {
    const job = await (await this.open()).getJob(id);
    if (job === undefined || !(await job.isDelayed())) return false;
    try {
      await job.changeDelay(delayMs);
      return true;
    } catch (error) {
      // If the job has begun meanwhile, BullMQ refuses the change.
      if (await job.isDelayed()) throw error;
      return false;
    }
  }

  /**
   * Makes jobs due at random times within a span, so that they do not all become due at once.
   * @returns the number of jobs that were delayed
   */
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

  /** @param shards their connections wait while Redis is unavailable */
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

/**
 * The score of a delayed job in BullMQ is its due time in milliseconds, multiplied by this number, plus a counter (BullMQ's
 * getDelayedScore.lua).
 */
export const STEPS = 0x1000;

/** Returns the due time of a delayed job in epoch milliseconds, computed from its score. */
export const dueTimeOf = (score: string): number => Math.floor(Number(score) / STEPS);

/** Returns the lowest score of a job that is due after this time. */
export const scoreOf = (at: number): number => (Math.floor(at) + 1) * STEPS;

/** Returns the due time of a job in epoch milliseconds; undefined if the job is not delayed. */
export async function dueTime(shard: Shard, queue: string, id: string): Promise<number | undefined> {
  const score = await shard.redis.zscore(shard.key(queue, 'delayed'), id);
  return score === null ? undefined : dueTimeOf(score);
}

/** Returns the envelope id of a job or dead letter; '' if the id is not that of a delivery. */
export const envelopeIdOf = (id: string): string => parseDeliveryId(id)?.envelopeId ?? '';

/** Key of the set of an envelope's jobs (`w:<id>`) and dead letters (`d:<id>`). */
export const ofEnvelopeKey = (shard: Shard, ...envelopeId: readonly string[]): string =>
  shard.key('unsettled', ...envelopeId);

/**
 * Lifetime of index entries in seconds, a day longer than dead letters are kept. Entries that a crash left behind expire.
 * Readers skip entries whose dead letter was removed.
 */
export const INDEXED_S = 31 * 86_400;

/** Repeats a step until Redis has confirmed it. The step must be idempotent. */
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
