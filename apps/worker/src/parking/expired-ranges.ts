import type { OffsetGap } from '@relay/kafka';
import type { CatchUpPartition, RangeCatchUp } from '../log/catch-up-partition.js';

/**
 * Removes the offsets that retention has dropped from the range of a webhook or replay.
 * @param lowest the first offset that the partition still has
 * @returns upper bound of the records that are gone
 */
export function dropExpired(partition: Pick<CatchUpPartition, 'at' | 'catchUp'>, key: string, lowest: number): number {
  const range = partition.catchUp(key);
  return range === undefined ? 0 : dropGap(partition, range, { from: 0, to: lowest });
}

/**
 * Removes offsets without a record from a range. All of the range before these offsets must have been handed out.
 * @returns upper bound of the records that are gone: the removed offsets or, with several shards, the share of one shard
 */
export function dropGap({ at }: Pick<CatchUpPartition, 'at'>, range: RangeCatchUp, { from, to }: OffsetGap): number {
  if (range.from >= to) return 0;
  range.passed(to);
  const offsets = Math.min(to, range.to ?? to) - Math.max(from, range.from);
  return Math.ceil(Math.max(0, offsets) / (at.shards ?? 1));
}
