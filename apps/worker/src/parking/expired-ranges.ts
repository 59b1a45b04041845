import type { CatchUpPartition } from '../log/catch-up-partition.js';

/**
 * Removes the offsets that retention has dropped from the range of a webhook or replay.
 * @param lowest the first offset that the partition still has
 * @returns the largest number of records that are gone: the offsets that were removed, or of several shards the share of one
 */
export function dropExpired(partition: Pick<CatchUpPartition, 'at' | 'catchUp'>, key: string, lowest: number): number {
  const range = partition.catchUp(key);
  if (range === undefined || range.from >= lowest) return 0;
  range.passed(lowest);
  return Math.ceil((Math.min(lowest, range.to ?? lowest) - range.from) / (partition.at.shards ?? 1));
}
