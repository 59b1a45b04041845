import { isReplay, parkedKey, parkingKey, rangesText } from '@relay/progress';
import type { Division } from './division.js';
import type { Move } from './move.js';
import { nameOf, oldParts, type Order } from './orders.adapter.js';

/** Writes the ranges of one partition into the new shards: of parked webhooks with their index, and of replays. */
export async function writeParking(move: Move, division: Division, orders: readonly Order[]): Promise<void> {
  const { to, writes } = move;
  const { at } = division;
  for (const key of division.keys) {
    if (isReplay(key)) continue;
    for (const [number, ranges] of division.of(key).entries()) {
      const shard = to.all[number];
      if (shard === undefined || ranges.length === 0) continue;
      const text = rangesText(ranges);
      writes.add(shard, text.length, (pipeline) => {
        pipeline.hset(parkingKey(shard, at), key, text);
        pipeline.hset(parkedKey(shard, key), nameOf(at), text);
        pipeline.sadd(parkedKey(shard), key);
      });
    }
    await writes.relieve();
  }
  for (const order of orders) {
    for (const [number, { text, isLeft }] of replayTexts(move, division, order).entries()) {
      const shard = to.all[number];
      if (shard === undefined) continue;
      writes.add(shard, text.length, (pipeline) => {
        if (isLeft) pipeline.hset(parkingKey(shard, at), order.key, text);
        // With one shard the index of a replay is its order, which changes with the number of shards.
        if (to.all.length === 1) return;
        pipeline.hset(parkedKey(shard, order.key), nameOf(at), text);
        if (order.life > 0) pipeline.pexpire(parkedKey(shard, order.key), order.life);
      });
    }
    await writes.relieve();
  }
}

/**
 * What is left of a replay in a partition, by new shard; nothing where no shard took it up, which the new ones do then. The first has
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
