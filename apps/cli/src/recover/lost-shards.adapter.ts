import { lossOf } from '@relay/doctor';
import { RedisPartitionProgress } from '@relay/progress';
import type { Shard, Shards } from '@relay/redis';
import type { EventRange } from './recovery-log.adapter.js';

/** A shard of Redis that was lost and is not fully recovered. */
export interface LostShard {
  readonly number: number;
  readonly shard: Shard;
  readonly progress: RedisPartitionProgress;
  /** The partitions that are left to be recovered. */
  readonly lost: readonly EventRange[];
  readonly isBegun: boolean;
}

/** @param windowMs `DEDUPE_WINDOW` in milliseconds */
export async function lostShards(
  events: readonly EventRange[],
  shards: Shards,
  windowMs: number,
): Promise<LostShard[]> {
  const found = await Promise.all(
    shards.all.map(async (shard, number) => {
      const progress = new RedisPartitionProgress(shard, windowMs);
      const { lost, isLost, isBegun } = await lossOf(events, shard, progress);
      // A worker that was stopped early may have committed none of the records it had read.
      const isEmpty = lost.length === events.length && lost.some(({ end }) => end > 0);
      return isLost || isEmpty ? [{ number, shard, progress, lost, isBegun }] : [];
    }),
  );
  return found.flat();
}
