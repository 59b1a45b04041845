import { progressKey } from '@relay/progress';
import type { Shards } from '@relay/redis';
import type { Redis } from 'ioredis';
import { copyAll, type CopyOptions } from './copies.adapter.js';
import { countsOf, differing, withoutVanished, type Counts } from './counts.adapter.js';
import type { Division } from './division.js';
import { deleteLayout, inventoryOf, partitionsOf, type Inventory, type Move } from './inventory.adapter.js';
import { forgetBefore, ReshardMark, runningReplays, storedNumbers, switchNumber } from './number.adapter.js';
import { newOrders, readOrders } from './orders.adapter.js';
import { Writes } from './scan.adapter.js';

export interface ReshardParts extends CopyOptions {
  readonly redis: Redis;
  readonly shardsOf: (count: number) => Promise<Shards>;
  /** @throws Error when a role runs */
  assertStopped(shards: Shards): Promise<void>;
  /** @throws Error when a shard was lost or is being recovered */
  assertWhole(shards: Shards): Promise<void>;
}

export type ReshardReport = NonNullable<Awaited<ReturnType<typeof change>>>;

/**
 * Changes the number of shards. The old layout stays as it is until the new one is complete and has as much of each kind; then the
 * number changes in one step. May be killed at any moment: the next run clears what was copied and begins again, or deletes what is
 * left of the old layout.
 * @returns undefined when it is this number already
 * @throws Error, with the old number unchanged, when a role runs, a shard was lost, a key is unknown, or a count differs
 */
export function reshard(parts: ReshardParts, wanted: number): Promise<ReshardReport | undefined> {
  return ReshardMark.during(parts.redis, parts.note, (mark) => change(parts, wanted, mark));
}

async function change(parts: ReshardParts, wanted: number, mark: ReshardMark) {
  const { redis, note } = parts;
  const { current, before } = await storedNumbers(redis);
  if (before !== undefined) {
    note(`An earlier change from ${before} to ${current} shards was cut off at its end: deleting what is left of it`);
    await deleteOld(parts, before);
  }
  if (current === wanted) return undefined;
  const from = await parts.shardsOf(current);
  await parts.assertStopped(from);
  await parts.assertWhole(from);
  note(`From ${current} to ${wanted} shards: counting`);
  const inventory = await inventoryOf(from);
  const counted = await countsOf(from, inventory);
  const sequence = await sequenceOf(from, inventory);
  const to = await parts.shardsOf(wanted);
  const left = await deleteLayout(to);
  if (left > 0) note(`Cleared ${left} keys that an earlier run had copied`);
  const move = { from, to, inventory, writes: new Writes() };
  const orders = await readOrders(from);
  const divisions = await copyAll(move, orders, parts);
  const expected = withoutVanished(counted, vanishedIn(divisions));
  const after = await assertComplete(move, expected);
  await parts.assertStopped(from);
  if ((await sequenceOf(from, inventory)) !== sequence)
    throw new Error('A worker ran meanwhile: nothing was changed. Stop all roles and run this again');
  const ordered = newOrders(move, orders, divisions, await runningReplays(redis));
  await mark.still((token) => switchNumber(redis, token, [current, wanted], ordered));
  note(`The state is in ${wanted} shards: deleting the old keys`);
  return { from: current, to: wanted, before: expected, after, deleted: await deleteOld(parts, current) };
}

async function deleteOld({ redis, shardsOf }: ReshardParts, count: number): Promise<number> {
  const deleted = await deleteLayout(await shardsOf(count));
  await forgetBefore(redis);
  return deleted;
}

/** Counts again where a count differs: a key may have expired, and Redis may have shown one twice. */
async function assertComplete(move: Move, expected: Counts): Promise<Counts> {
  const after = await countsOf(move.to, await inventoryOf(move.to));
  const wrong = differing(expected, after);
  if (wrong.length === 0) return after;
  const counts = wrong.map((kind) => `${kind} ${expected[kind]} before, ${after[kind]} after`).join('; ');
  throw new Error(
    `The copy is not complete: ${counts}. Nothing was changed. Run this again; something may have expired meanwhile`,
  );
}

/** Webhooks parked in a partition of which no record waits any more, such as one that Kafka has deleted. */
const vanishedIn = (divisions: readonly Division[]): number =>
  divisions.reduce((sum, division) => sum + division.vanished, 0);

/** Each flush and each change of an owner raises it. */
async function sequenceOf(shards: Shards, inventory: Inventory): Promise<number> {
  let sum = 0;
  for (const at of partitionsOf(inventory))
    for (const shard of shards.all) sum += Number((await shard.redis.hget(progressKey(shard, at), 'sequence')) ?? 0);
  return sum;
}
