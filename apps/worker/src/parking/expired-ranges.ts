import type { CatchUpPartition } from '../log/catch-up-partition.js';

/**
 * Takes what the retention of the topic has dropped out of what waits for a webhook or a replay.
 * @param lowest the first offset that the partition still has
 * @returns how many offsets that were, at most as many records
 */
export function dropExpired(partition: Pick<CatchUpPartition, 'turn'>, key: string, lowest: number): number {
  const turn = partition.turn(key);
  if (turn === undefined || turn.from >= lowest) return 0;
  turn.passed(lowest);
  return Math.min(lowest, turn.to ?? lowest) - turn.from;
}
