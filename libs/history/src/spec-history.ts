import type { Shards } from '@relay/redis';
import { RedisDeliveryHistory, ShardHistory } from './delivery-history.adapter.js';
import type { DeliveredLine } from './history-line.js';

/** A history that is read over all shards, and written to each of them as workers do. */
export function historyOf(
  shards: Shards,
  windowMs: number,
): RedisDeliveryHistory & { add(lines: readonly DeliveredLine[]): Promise<void> } {
  const add = async (lines: readonly DeliveredLine[]): Promise<void> => {
    for (const [shard, part] of shards.divide(lines, ({ envelopeId }) => envelopeId))
      await new ShardHistory(shard, windowMs).add(part);
  };
  return Object.assign(new RedisDeliveryHistory(shards, windowMs), { add });
}
