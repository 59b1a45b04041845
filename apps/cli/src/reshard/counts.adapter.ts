import { DELIVERIES_QUEUE } from '@relay/jobs';
import { droppedKey, isReplay, parkingKey } from '@relay/progress';
import type { Shard, Shards } from '@relay/redis';
import type { ChainableCommander } from 'ioredis';
import { LISTS, QUEUES, SORTED } from './copies.adapter.js';
import { partitionsOf, type Inventory } from './inventory.adapter.js';
import { answersOf, entriesOf } from './scan.adapter.js';
import { marksOf } from './seen.adapter.js';

/** How many there are of each kind in a layout, by what an operator calls it. Every copy must have as many. */
export type Counts = Readonly<Record<string, number>>;

const AT_ONCE = 500;
const PARKED = 'webhooks parked in a partition';

/** Counts a layout. It reads the length of keys where there is one, and never all keys at once. */
export async function countsOf(shards: Shards, inventory: Inventory): Promise<Counts> {
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
      for (const answer of await answersOf(pipeline)) sum += Number(answer);
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

/** Of what several shards have for one partition, the same counts once. */
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

/** Of the counts before, what the new layout must have: without webhooks of which no record waits any more. */
export const withoutVanished = (before: Counts, vanished: number): Counts => ({
  ...before,
  [PARKED]: (before[PARKED] ?? 0) - vanished,
});

export const differing = (before: Counts, after: Counts): string[] =>
  Object.keys(before).filter((kind) => before[kind] !== after[kind]);
