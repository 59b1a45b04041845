import type { Queue } from 'bullmq';
import type { Shard } from '@relay/redis';
import { bullOptions } from './queues.js';

/**
 * A BullMQ queue that is opened when it is first used: an app that rarely touches a queue neither loads BullMQ at its start nor
 * keeps the 13 MiB that it takes.
 */
export class LazyQueue {
  #opened?: Promise<Queue>;

  /** @param shard with a connection that waits for Redis */
  constructor(
    private readonly name: string,
    private readonly shard: Shard,
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

  async close(): Promise<void> {
    await (await this.#opened)?.close();
  }
}
