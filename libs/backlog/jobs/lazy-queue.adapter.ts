import type { PerShard, Shard, Shards } from '@relay/redis';
import type { Queue } from 'bullmq';
import { bullOptions, envelopeIdOf } from './queues.js';

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
