import { rangesText, readReplay } from '@relay/progress';
import type { Division } from './division.js';
import type { Move } from './move.js';
import type { NewOrder } from './number.adapter.js';
import { nameOf, type Order } from './orders.adapter.js';
import { replayTexts } from './parking.adapter.js';

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
