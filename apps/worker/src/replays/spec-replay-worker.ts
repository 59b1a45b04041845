import { RedisPartitionProgress } from '@relay/progress';
import type { Shards } from '@relay/redis';
import { Replays } from '@relay/replays';
import { PinoLog, ThrottledLog } from '@relay/telemetry';
import type { Redis } from 'ioredis';
import type { CatchUpPartition } from '../log/catch-up-partition.js';
import { PartitionReader } from '../log/partition-reader.js';
import { ReplayOrders } from './replay-orders.js';

const log = new PinoLog('spec', 'silent');
/** The range key of the first replay that specs order. */
export const KEY = 'w/1000';

/** A worker that reads the partitions 3 and 4 in every shard. */
export class SpecWorker {
  readonly replays: Replays;
  readonly orders: ReplayOrders;
  readers: PartitionReader[] = [];

  constructor(
    redis: Redis,
    private readonly shards: Shards,
  ) {
    this.replays = new Replays(redis, shards);
    this.orders = new ReplayOrders(
      this.replays,
      { catchUpPartitions: () => this.readers.flatMap((reader) => reader.catchUpPartition() ?? []) },
      { find: () => undefined },
      { KAFKA_TOPIC_PREFIX: '' },
      new ThrottledLog(log),
    );
  }

  async start(): Promise<this> {
    const isOne = this.shards.all.length === 1;
    this.readers = this.shards.all.flatMap((shard, number) =>
      [3, 4].map((partition) => {
        const place = { topic: 'task.created', partition, ...(isOne ? {} : { shard: number }) };
        return new PartitionReader(place, new RedisPartitionProgress(shard, 3_600_000), log, 1);
      }),
    );
    for (const reader of this.readers) await reader.own(100);
    return this;
  }

  /** Returns the catch-up of a partition, by default partition 3, in a shard. */
  part(shard: number, partition = 3): CatchUpPartition {
    const found = this.readers[2 * shard + partition - 3]?.catchUpPartition();
    if (found === undefined) throw new Error('the partition is not read');
    return found;
  }

  /** Delivers every offset that the replay has left in a shard, and writes the progress to Redis. */
  async deliver(shard: number): Promise<void> {
    for (const partition of [3, 4]) {
      const range = this.part(shard, partition).catchUp(KEY);
      for (let offset = range?.from ?? 0; offset < (range?.to ?? 0); offset += 1) range?.begin(offset)?.();
    }
    await this.flush();
  }

  async flush(): Promise<void> {
    for (const reader of this.readers) await reader.flush(true);
  }

  /** Reads the positions from Redis again, as a worker does after a reconnection. */
  async own(): Promise<void> {
    for (const reader of this.readers) {
      reader.doubt();
      await reader.own(100);
    }
  }

  async status(): Promise<unknown> {
    const { state, matched, done } = (await this.replays.find('one', 3_000)) ?? {};
    return { state, matched, done };
  }
}

/** Remembers the values under these keys. Returns a function that restores them. */
export async function remembered(store: Redis, pattern: string): Promise<() => Promise<void>> {
  const keys = await store.keys(pattern);
  const texts = await Promise.all(keys.map(async (key) => [key, await store.dumpBuffer(key)] as const));
  return async () => {
    const now = await store.keys(pattern);
    if (now.length > 0) await store.del(...now);
    for (const [key, text] of texts) await store.restore(key, 0, text);
  };
}
