import type { Shard, Shards } from '@relay/redis';
import { scoreOf } from './due-time.js';
import { hasten } from './hasten.adapter.js';
import { LazyQueue } from './lazy-queue.adapter.js';
import { DELIVERIES_QUEUE } from './queues.js';

/** Of one shard, at each look. */
const MOST = 1_000;
const AT_ONCE = 50;
/** They are due at random times within this span, not all at once. */
const SPREAD_MS = 10_000;

/** Jobs that are due later than any delivery may wait: the clock by which they were put off was wrong. */
export class MisdatedJobs {
  readonly #all: readonly ShardJobs[];

  /** @param shards over connections for BullMQ */
  constructor(shards: Shards) {
    this.#all = shards.all.map((shard) => new ShardJobs(shard));
  }

  /** Makes those due that are due after this time, epoch milliseconds. @returns how many, at most a thousand of each shard */
  async mend(latest: number): Promise<number> {
    const mended = await Promise.all(this.#all.map((jobs) => jobs.mend(latest)));
    return mended.reduce((sum, each) => sum + each, 0);
  }

  async close(): Promise<void> {
    await Promise.all(this.#all.map((jobs) => jobs.close()));
  }
}

class ShardJobs {
  readonly #queue: LazyQueue;

  constructor(private readonly shard: Shard) {
    this.#queue = new LazyQueue(DELIVERIES_QUEUE, shard);
  }

  async mend(latest: number): Promise<number> {
    const key = this.shard.key(DELIVERIES_QUEUE, 'delayed');
    const ids = await this.shard.redis.zrange(key, scoreOf(latest), '+inf', 'BYSCORE', 'LIMIT', 0, MOST);
    let mended = 0;
    for (let from = 0; from < ids.length; from += AT_ONCE) {
      const slice = ids.slice(from, from + AT_ONCE);
      const made = await Promise.all(slice.map((id) => hasten(this.#queue, id, Math.random() * SPREAD_MS)));
      mended += made.filter(Boolean).length;
    }
    return mended;
  }

  close(): Promise<void> {
    return this.#queue.close();
  }
}
