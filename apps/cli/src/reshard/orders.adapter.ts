import { parkedKey, rangesText, readReplay, type LogPartition } from '@relay/progress';
import { onlyShard, type Shards } from '@relay/redis';
import type { Division } from './division.js';
import { ordersIn, type Move } from './inventory.adapter.js';
import type { NewOrder } from './number.adapter.js';

/** A replay that is kept: its order, and what each old shard shows of it, as partition → range text. */
export interface Order {
  readonly key: string;
  readonly ordered: Readonly<Record<string, string>>;
  readonly parts: readonly Readonly<Record<string, string>>[];
  /** For which it is kept, in milliseconds; 0 or less without an end. */
  readonly life: number;
}

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
export function oldParts({ ordered, parts }: Order, at: LogPartition) {
  const name = nameOf(at);
  if (parts.every((part) => part[name] === undefined)) return undefined;
  return parts.map((part) => {
    const taken = part[name];
    const { ranges, counts } = readReplay(taken ?? ordered[name] ?? '');
    return taken === undefined ? { ranges, done: 0, failed: 0 } : { ranges, ...counts };
  });
}

/**
 * What is left of a replay in a partition, by new shard; nothing if no shard took it up, which the new ones do then. The first has
 * the counts of all.
 */
export function replayTexts({ to }: Move, division: Division, order: Order): { text: string; isLeft: boolean }[] {
  const parts = oldParts(order, division.at);
  if (parts === undefined) {
    const ordered = order.ordered[nameOf(division.at)];
    // One shard finds what it has to do where its order was written for it.
    return to.all.length > 1 || ordered === undefined ? [] : [{ text: ordered, isLeft: !ordered.startsWith('|') }];
  }
  const sum = { done: 0, failed: 0 };
  for (const { done, failed } of parts) {
    sum.done += done;
    sum.failed += failed;
  }
  return division.of(order.key).map((ranges, number) => ({
    text: rangesText(ranges, number === 0 ? sum : { done: 0, failed: 0 }),
    isLeft: ranges.length > 0,
  }));
}

/**
 * The orders of replays as the new number of shards needs them. With one shard an order shows what is left, with several what was
 * ordered: the counts are in the shards then, and a shard that is lost must not add them once more.
 * @param running range keys of the replays that run or are paused
 */
export function newOrders(
  move: Move,
  orders: readonly Order[],
  divisions: readonly Division[],
  running: ReadonlySet<string>,
): NewOrder[] {
  if (move.to.all.length === 1) return orders.map((order) => ofOneShard(move, order, divisions, running));
  return move.from.all.length === 1 ? orders.map(ofSeveral) : [];
}

function ofOneShard(move: Move, order: Order, divisions: readonly Division[], running: ReadonlySet<string>): NewOrder {
  const texts = Object.fromEntries(
    divisions.flatMap((division) => {
      const [only] = replayTexts(move, division, order);
      return only === undefined ? [] : [[nameOf(division.at), only.text]];
    }),
  );
  const isDone = Object.values(texts).every((text) => text.startsWith('|'));
  return { key: order.key, texts, hasEnded: isDone && running.has(order.key) };
}

function ofSeveral({ key, ordered }: Order): NewOrder {
  const parts = Object.entries(ordered).filter(([name]) => name.includes('/'));
  const texts = parts.map(([name, text]) => [name, rangesText(readReplay(text).ranges, { done: 0, failed: 0 })]);
  return { key, texts: Object.fromEntries(texts) as Record<string, string>, hasEnded: false };
}
