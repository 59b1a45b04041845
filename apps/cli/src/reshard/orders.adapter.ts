import { parkedKey, readReplay, type LogPartition, type ParkedRange } from '@relay/progress';
import { onlyShard, type Shards } from '@relay/redis';
import { ordersIn } from './inventory.adapter.js';

/** What one old shard shows of a replay in one partition. */
interface OldPart {
  readonly ranges: readonly ParkedRange[];
  readonly done: number;
  readonly failed: number;
  /** It waits for records, and was not forgotten. */
  readonly isTaken: boolean;
}

/** A replay that is kept: its order, and what each old shard shows of it, as partition → range text. */
export interface Order {
  readonly key: string;
  readonly ordered: Readonly<Record<string, string>>;
  readonly parts: readonly Readonly<Record<string, string>>[];
  /** For which it is kept, in milliseconds; 0 or less without an end. */
  readonly life: number;
}

/** All replays that are kept, running or not. */
export async function readOrders(from: Shards): Promise<Order[]> {
  const slot = onlyShard(from.global);
  const orders: Order[] = [];
  for (const key of await ordersIn(slot)) {
    const [ordered, life, ...parts] = await Promise.all([
      from.global.hgetall(parkedKey(slot, key)),
      from.global.pttl(parkedKey(slot, key)),
      // With one shard they are the same hash.
      ...from.all.map((shard) => shard.redis.hgetall(parkedKey(shard, key))),
    ]);
    orders.push({ key, ordered, parts, life });
  }
  return orders;
}

/** The partitions of which these replays ask for records, as they are named among keys. */
export const orderedIn = (orders: readonly Order[]): string[] =>
  orders.flatMap(({ ordered }) =>
    Object.keys(ordered)
      .filter((name) => name.includes('/'))
      .map((name) => name.replace('/', ':')),
  );

export const nameOf = ({ topic, partition }: LogPartition): string => `${topic}/${partition}`;

/**
 * What the old shards show of a replay in one partition; a shard that did not take its part up has all that was ordered left. Undefined
 * when none took it up.
 */
export function oldParts({ ordered, parts }: Order, at: LogPartition): OldPart[] | undefined {
  const name = nameOf(at);
  if (parts.every((part) => part[name] === undefined)) return undefined;
  return parts.map((part) => {
    const taken = part[name];
    const { ranges, counts } = readReplay(taken ?? ordered[name] ?? '');
    return taken === undefined ? { ranges, done: 0, failed: 0, isTaken: false } : { ranges, ...counts, isTaken: true };
  });
}
