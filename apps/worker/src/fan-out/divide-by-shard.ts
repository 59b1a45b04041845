import type { ReadRecord } from '@relay/events';
import { shardNumber } from '@relay/redis';

/** Returns the records of each shard in their order. A record that is no envelope belongs to shard 0. */
export function divideByShard(
  records: readonly ReadRecord[],
  shards: number,
): ReadonlyMap<number, readonly ReadRecord[]> {
  const divided = new Map<number, ReadRecord[]>();
  for (const item of records) {
    const shard = item.kind === 'envelope' ? shardNumber(item.envelope.id, shards) : 0;
    const own = divided.get(shard);
    if (own === undefined) divided.set(shard, [item]);
    else own.push(item);
  }
  return divided;
}
