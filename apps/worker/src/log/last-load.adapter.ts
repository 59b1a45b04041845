import { countDeliveries } from '@relay/jobs';
import { fullestOf, readMemory, type RedisMemory } from '@relay/metrics';
import type { Shards } from '@relay/redis';
import type { ReadingLoad } from './pause-rule.js';

/**
 * Reads how full Redis and the queue are. For a shard that is away the last answer counts: its data is still there, and the other
 * shards go on filling.
 */
export class LastLoad {
  readonly #memory: (RedisMemory | undefined)[] = [];
  readonly #queued: number[] = [];

  constructor(private readonly shards: Shards) {}

  /** @throws Error of Redis when no server has ever answered */
  async read(): Promise<ReadingLoad> {
    const { all, connections } = this.shards;
    const readings = [
      ...connections.map(async (redis, index) => void (this.#memory[index] = await readMemory(redis))),
      ...all.map(async (shard, index) => void (this.#queued[index] = await countDeliveries(shard))),
    ];
    const failed = (await Promise.allSettled(readings)).find((reading) => reading.status === 'rejected');
    const known = this.#memory.filter((memory) => memory !== undefined);
    if (known.length === 0) throw failed?.reason;
    return { memory: fullestOf(known), queued: this.#queued.reduce((sum, count) => sum + (count ?? 0), 0) };
  }
}
