import type { SeenEntry } from '@relay/dedupe';
import { readRegistryVersion, type Shards } from '@relay/redis';
import type { Redis } from 'ioredis';
import { CallBatch } from './call-batch.js';
import type { Parking } from './parking.js';
import {
  PartitionProgress,
  type Flush,
  type LogPartition,
  type LookUp,
  type OwnedPosition,
  type Ownership,
} from './partition-progress.port.js';
import { RedisPartitionProgress } from './redis-partition-progress.adapter.js';

/**
 * Progress over the shards of a deployment. Each shard has the progress of its parts of the partitions, which goes back in time
 * with that shard alone.
 */
export class ShardedPartitionProgress extends PartitionProgress {
  readonly #all: readonly PartitionProgress[];
  readonly #versions = new CallBatch<never, number>(() => readRegistryVersion(this.global), 0);

  /**
   * @param global connection to the keys that belong to no shard
   * @param agreed resolves when the jobs of this shard are stored on the same server as its progress
   */
  constructor(
    shards: Shards,
    private readonly global: Pick<Redis, 'mget'>,
    dedupeWindowMs: number,
    agreed: (shard: number) => Promise<void>,
  ) {
    super();
    this.#all = shards.all.map(
      (shard, number) => new RedisPartitionProgress(shard, dedupeWindowMs, () => agreed(number)),
    );
  }

  own(at: LogPartition, token: string, how: Ownership): Promise<OwnedPosition | 'owned-elsewhere' | undefined> {
    return this.#of(at).own(at, token, how);
  }

  release(at: LogPartition, token: string): Promise<void> {
    return this.#of(at).release(at, token);
  }

  async rememberKnown(read: readonly LogPartition[]): Promise<boolean> {
    const [first] = read;
    return first !== undefined && this.#of(first).rememberKnown(read);
  }

  wasKnown(at: LogPartition): Promise<boolean> {
    return this.#of(at).wasKnown(at);
  }

  /**
   * Reads the version of the registry after the records were fetched, so that it has all that was registered before they were
   * sent.
   */
  async lookUp(at: LogPartition, entries: readonly SeenEntry[]): Promise<LookUp> {
    const [{ results }, { answer: registryVersion }] = await Promise.all([
      this.#of(at).lookUp(at, entries),
      this.#versions.add([], 0),
    ]);
    return { results, registryVersion };
  }

  flush(at: LogPartition, write: Flush): Promise<boolean> {
    return this.#of(at).flush(at, write);
  }

  parking(at: LogPartition): Promise<Parking> {
    return this.#of(at).parking(at);
  }

  partials(at: LogPartition, ids: readonly string[]): Promise<Map<string, Set<string>>> {
    return this.#of(at).partials(at, ids);
  }

  #of({ topic, partition, shard = 0 }: LogPartition): PartitionProgress {
    const found = this.#all[shard];
    if (found === undefined) throw new RangeError(`${topic}/${partition} is of shard ${shard} of ${this.#all.length}`);
    return found;
  }
}
