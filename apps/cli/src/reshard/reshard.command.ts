import { historyEnv, redisEnv } from '@relay/config';
import { DELIVERIES_QUEUE } from '@relay/jobs';
import { droppedKey, isReplay, parkingKey, progressKey } from '@relay/progress';
import { connectShards, redisReady, type Shard, type Shards } from '@relay/redis';
import { type Command, InvalidArgumentError } from 'commander';
import type { ChainableCommander, Redis } from 'ioredis';
import { assertStopped, assertWhole } from '../recover/recovery-log.adapter.js';
import { answer, documented, settingsOf, type Shell, table } from '../shell.js';
import { assertClaimed, withKafka, withRedis } from '../stores.adapter.js';
import { copyAll, type CopyOptions, LISTS, QUEUES, SORTED } from './copies.adapter.js';
import {
  answersOf,
  deleteLayout,
  entriesOf,
  type Inventory,
  inventoryOf,
  type Move,
  partitionsOf,
  Writes,
} from './layout.adapter.js';
import { forgetBefore, ReshardMark, runningReplays, storedNumbers, switchNumber } from './number.adapter.js';
import { disputedLog, newOrders, readOrders } from './partitions.adapter.js';
import { marksOf } from './seen.adapter.js';

const MOST_SHARDS = 64;

export function defineReshard(command: Command, shell: Shell): void {
  command
    .requiredOption('--shards <number>', `number of shards from now on, 1 to ${MOST_SHARDS}`, shardsIn)
    .action(async (options: { shards: number; json?: boolean }) => {
      const { shards: wanted } = options;
      const startedAt = performance.now();
      const report = await changeShards(shell, wanted, options.json === true);
      const seconds = Math.round((performance.now() - startedAt) / 100) / 10;
      if (report === undefined) answer(shell, options, { shards: wanted }, `There are ${wanted} shards: nothing to do`);
      else answer(shell, options, { ...report, seconds }, textOf(report, seconds));
    });
  documented(command, 'reshard --shards 3');
}

function changeShards(shell: Shell, wanted: number, isQuiet: boolean): Promise<ReshardReport | undefined> {
  const { HISTORY_WINDOW: historyWindowMs } = settingsOf(shell, historyEnv);
  const work = (redis: Redis): Promise<ReshardReport | undefined> =>
    withKafka(shell, async (kafka, settings) => {
      await assertClaimed(redis, kafka, settings);
      return withLayouts(shell, redis, (shardsOf) =>
        reshard(
          {
            redis,
            shardsOf,
            historyWindowMs,
            readDisputed: disputedLog(kafka, settings),
            assertStopped: (shards) => assertStopped(shards, kafka, settings),
            assertWhole: (shards) => assertWhole(shards, kafka, settings),
            note: (text) => (isQuiet ? undefined : shell.note(text)),
          },
          wanted,
        ),
      );
    });
  return withRedis(shell, work, 'any number of shards');
}

/** Runs `work` with a function that connects to a layout of any number of shards, independent of `REDIS_SHARDS`. */
async function withLayouts<T>(
  shell: Shell,
  redis: Redis,
  work: (shardsOf: (count: number) => Promise<Shards>) => Promise<T>,
): Promise<T> {
  const settings = settingsOf(shell, redisEnv);
  const opened: Shards[] = [];
  try {
    return await work(async (count) => {
      const shards = connectShards({ ...settings, REDIS_SHARDS: count }, 'command', () => undefined, redis);
      opened.push(shards);
      await Promise.all(shards.connections.map((connection) => redisReady(connection, () => undefined)));
      return shards;
    });
  } finally {
    for (const shards of opened) for (const connection of shards.connections) connection.disconnect();
  }
}

function shardsIn(text: string): number {
  const count = Number(text);
  if (!Number.isInteger(count) || count < 1 || count > MOST_SHARDS)
    throw new InvalidArgumentError(`It is a whole number from 1 to ${MOST_SHARDS}.`);
  return count;
}

function textOf({ from, to, before, after, deleted }: ReshardReport, seconds: number): string {
  const kinds = Object.keys(before).filter((kind) => before[kind] !== 0);
  return [
    table([['', 'before', 'after'], ...kinds.map((kind) => [kind, String(before[kind]), String(after[kind])])]),
    `${from} → ${to} shards in ${seconds} s; ${deleted} old keys deleted.`,
    `Start all roles with REDIS_SHARDS=${to}.`,
  ].join('\n');
}

export interface ReshardParts extends CopyOptions {
  readonly redis: Redis;
  readonly shardsOf: (count: number) => Promise<Shards>;
  /** @throws Error if a role runs */
  assertStopped(shards: Shards): Promise<void>;
  /** @throws Error if a shard was lost or is being recovered */
  assertWhole(shards: Shards): Promise<void>;
}

type ReshardReport = NonNullable<Awaited<ReturnType<typeof change>>>;

/**
 * Changes the number of shards. The old layout stays unchanged until the new layout is complete and has the same number of
 * entries of each kind. Then the number changes in one step. May be killed at any moment. The next run deletes an incomplete
 * copy and begins again, or deletes what is left of the old layout.
 * @returns undefined if the number is already the wanted one
 * @throws Error if a role runs, a shard was lost, a key is unknown, or a count differs. The number is unchanged then
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
  // A webhook that is parked in a partition may wait for no record there any more, for example because Kafka deleted the
  // record. The new layout does not contain such webhooks.
  const vanished = divisions.reduce((sum, division) => sum + division.vanished, 0);
  const expected = withoutVanished(counted, vanished);
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

/**
 * Counts the new layout.
 * @throws Error if a count differs, for example because a key expired or Redis returned a key twice
 */
async function assertComplete(move: Move, expected: Counts): Promise<Counts> {
  const after = await countsOf(move.to, await inventoryOf(move.to));
  const wrong = differing(expected, after);
  if (wrong.length === 0) return after;
  const counts = wrong.map((kind) => `${kind} ${expected[kind]} before, ${after[kind]} after`).join('; ');
  throw new Error(
    `The copy is not complete: ${counts}. Nothing was changed. Run this again; something may have expired meanwhile`,
  );
}

/** Returns the sum of the sequence numbers of all partitions. Each flush and each change of owner increases the sum. */
async function sequenceOf(shards: Shards, inventory: Inventory): Promise<number> {
  let sum = 0;
  for (const at of partitionsOf(inventory))
    for (const shard of shards.all) sum += Number((await shard.redis.hget(progressKey(shard, at), 'sequence')) ?? 0);
  return sum;
}

/**
 * The number of entries of each kind in a layout, under a name that operators understand. A copy must have the same numbers.
 */
type Counts = Readonly<Record<string, number>>;

/** Number of keys whose lengths are read at once. */
const AT_ONCE = 500;
const PARKED = 'webhooks parked in a partition';

/**
 * Counts the entries of a layout. If Redis has the length of a key, only the length is read. Never reads all keys at once.
 */
async function countsOf(shards: Shards, inventory: Inventory): Promise<Counts> {
  const { names, keys } = inventory;
  const lengths = (kind: readonly string[], of: Iterable<string>, ask: Ask): Promise<number> =>
    sumOf(shards, [...of], (pipeline, shard, name) => ask(pipeline, shard.key(...kind, name)));
  return {
    'seen ids': await seenIds(shards),
    'ids that came again': await lengths(
      [],
      [...names.repeats].map((name) => `repeats:${name}`),
      byFields,
    ),
    ...(await queueCounts(shards)),
    'records of jobs and dead letters': keys.job,
    'bodies kept once': keys.body,
    'envelopes with jobs or dead letters': keys.unsettled,
    'jobs counted by webhook': await lengths(['waiting'], names.waiting, byFields),
    'dead letters by webhook': await lengths(['dead'], names.dead, byScores),
    'jobs held for disabled webhooks': await lengths(['held'], names.held, (pipeline, key) => pipeline.scard(key)),
    'jobs held for unproven origins': await lengths(['unproven', 'jobs'], names.unproven, byScores),
    'history lines': await lengths(['history'], names.history, (pipeline, key) => pipeline.xlen(key)),
    'failed attempts': await failures(shards, names.failed),
    ...(await partitionCounts(shards, inventory)),
  };
}

type Ask = (pipeline: ChainableCommander, key: string) => unknown;
const byFields: Ask = (pipeline, key) => pipeline.hlen(key);
const byItems: Ask = (pipeline, key) => pipeline.llen(key);
const byScores: Ask = (pipeline, key) => pipeline.zcard(key);

async function sumOf(
  shards: Shards,
  names: readonly string[],
  ask: (pipeline: ChainableCommander, shard: Shard, name: string) => unknown,
): Promise<number> {
  let sum = 0;
  for (const shard of shards.all)
    for (let at = 0; at < names.length; at += AT_ONCE) {
      const pipeline = shard.redis.pipeline();
      for (const name of names.slice(at, at + AT_ONCE)) ask(pipeline, shard, name);
      for (const length of await answersOf(pipeline)) sum += Number(length);
    }
  return sum;
}

const lengthOf = (shards: Shards, key: readonly string[], ask: Ask): Promise<number> =>
  sumOf(shards, [''], (pipeline, shard) => ask(pipeline, shard.key(...key)));

async function seenIds(shards: Shards): Promise<number> {
  let sum = 0;
  for (const shard of shards.all) for (const { ids } of (await marksOf(shard)).generations) sum += ids;
  return sum;
}

async function queueCounts(shards: Shards): Promise<Counts> {
  const counts: Record<string, number> = {};
  for (const queue of QUEUES) {
    for (const state of LISTS) counts[titleOf(queue, state)] = await lengthOf(shards, [queue, state], byItems);
    for (const state of SORTED) counts[titleOf(queue, state)] = await lengthOf(shards, [queue, state], byScores);
  }
  return counts;
}

const titleOf = (queue: (typeof QUEUES)[number], state: string): string =>
  `${queue === DELIVERIES_QUEUE ? 'jobs' : 'dead letters'} ${state === 'wait' ? 'waiting' : state}`;

async function failures(shards: Shards, webhooks: ReadonlySet<string>): Promise<number> {
  let sum = 0;
  for (const shard of shards.all)
    for (const id of webhooks)
      for (const [hour, count] of Object.entries(await shard.redis.hgetall(shard.key('failed', id))))
        if (/^\d+$/.test(hour)) sum += Number(count);
  return sum;
}

/** Counts a webhook or an offset of a partition only once, even if several shards contain it. */
async function partitionCounts(shards: Shards, inventory: Inventory): Promise<Counts> {
  let [parked, dropped, partial] = [0, 0, 0];
  for (const at of partitionsOf(inventory)) {
    const [keys, offsets] = [new Set<string>(), new Set<string>()];
    for (const shard of shards.all) {
      for (const key of await shard.redis.hkeys(parkingKey(shard, at))) if (!isReplay(key)) keys.add(key);
      for await (const page of entriesOf(shard.redis, 'sorted', droppedKey(shard, at)))
        for (const [offset] of page) offsets.add(String(offset));
      partial += await shard.redis.hlen(shard.key('partial', at.topic, at.partition));
    }
    parked += keys.size;
    dropped += offsets.size;
  }
  return { [PARKED]: parked, 'repeats in parked ranges': dropped, 'envelopes delivered in part': partial };
}

/**
 * Returns the counts that the new layout must have: the old counts without the webhooks that wait for no record any more.
 */
const withoutVanished = (before: Counts, vanished: number): Counts => ({
  ...before,
  [PARKED]: (before[PARKED] ?? 0) - vanished,
});

const differing = (before: Counts, after: Counts): string[] =>
  Object.keys(before).filter((kind) => before[kind] !== after[kind]);
