import { randomUUID } from 'node:crypto';
import { uuidOf } from '@relay/events';
import { hourExpiresAt, idOf, indexedLine, merged } from '@relay/history';
import { DEAD_LETTERS_QUEUE, DELIVERIES_QUEUE, envelopeIdOf } from '@relay/jobs';
import type { Shard } from '@relay/redis';
import type { Division } from './division.js';
import {
  addEntries,
  answersOf,
  divide,
  entriesIn,
  entriesOf,
  keysOf,
  kindOf,
  type Entry,
  type Move,
  type Type,
} from './layout.adapter.js';
import { copyPartitions, type Order, type ReadDisputed } from './partitions.adapter.js';
import { copySeen } from './seen.adapter.js';

export interface CopyOptions {
  /** `HISTORY_WINDOW` in milliseconds. */
  readonly historyWindowMs: number;
  readonly readDisputed: ReadDisputed;
  readonly note: (text: string) => void;
}

/**
 * Copies one layout of shards into another layout, which is empty.
 * @returns how the ranges of each partition were divided
 */
export async function copyAll(move: Move, orders: readonly Order[], options: CopyOptions): Promise<Division[]> {
  const divisions: Division[] = [];
  const steps: readonly (readonly [string, () => Promise<unknown>])[] = [
    ['seen ids', () => copySeen(move)],
    ['jobs, dead letters and bodies', () => copyEnvelopeKeys(move)],
    ['queues', () => copyQueues(move)],
    ['lists by webhook', () => copyDividedKeys(move)],
    ['history', () => copyHistory(move, options.historyWindowMs)],
    ['failed attempts', () => copyFailures(move)],
    ['lines of notices', () => copyNotices(move)],
    [
      'progress and parked ranges',
      async () => divisions.push(...(await copyPartitions(move, orders, options.readDisputed))),
    ],
  ];
  for (const [what, copy] of steps) {
    const startedAt = performance.now();
    await copy();
    await move.writes.finish();
    options.note(`${what}: copied in ${((performance.now() - startedAt) / 1_000).toFixed(1)} s`);
  }
  return divisions;
}

/** Number of keys that are read in one pipeline. It is small because a body may have hundreds of KiB. */
const AT_ONCE = 50;

interface WholeKey {
  readonly key: string;
  readonly type: Type;
  readonly envelopeId: string;
}

/** Copies the keys that belong to a single envelope: jobs, dead letters, bodies, and indexes by envelope. */
async function copyEnvelopeKeys(move: Move): Promise<void> {
  for (const shard of move.from.all)
    for await (const page of keysOf(shard)) {
      const own = page.flatMap((key) => wholeKey(shard, key) ?? []);
      for (let at = 0; at < own.length; at += AT_ONCE) await copyWhole(move, shard, own.slice(at, at + AT_ONCE));
    }
}

function wholeKey({ tag }: Shard, key: string): WholeKey | undefined {
  const known = kindOf(tag, key);
  if (known?.kind === 'job') return { key, type: 'hash', envelopeId: envelopeIdOf(known.name.split(':')[1] ?? '') };
  if (known?.kind === 'body') return { key, type: 'hash', envelopeId: known.name.split('_')[0] ?? '' };
  return known?.kind === 'unsettled' ? { key, type: 'set', envelopeId: known.name } : undefined;
}

async function copyWhole({ to, writes }: Move, shard: Shard, keys: readonly WholeKey[]): Promise<void> {
  const reads = shard.redis.pipeline();
  for (const { key, type } of keys) {
    if (type === 'hash') reads.hscanBuffer(key, 0, 'COUNT', 1_000);
    else reads.sscanBuffer(key, 0, 'COUNT', 1_000);
    reads.pttl(key);
  }
  const answers = await answersOf(reads);
  for (const [n, { key, type, envelopeId }] of keys.entries()) {
    const [cursor, elements] = answers[2 * n] as [Buffer, Buffer[]];
    const ttl = Number(answers[2 * n + 1]);
    const target = to.of(envelopeId);
    const newKey = target.tag + key.slice(shard.tag.length);
    const write = (entries: readonly Entry[]): void => {
      const bytes = entries.reduce((sum, [, value]) => sum + 100 + (value?.length ?? 0), 0);
      if (entries.length > 0) writes.add(target, bytes, (pipeline) => addEntries(pipeline, type, newKey, entries));
    };
    if (cursor.toString() === '0') write(entriesIn(type, elements));
    else for await (const entries of entriesOf(shard.redis, type, key)) write(entries);
    if (ttl > 0) writes.add(target, 0, (pipeline) => pipeline.pexpire(newKey, ttl));
    await writes.relieve();
  }
}

/** The states of BullMQ jobs. The first group keeps its job ids in lists, the second group in sorted sets. */
export const LISTS = ['wait', 'active', 'paused'] as const;
export const SORTED = ['delayed', 'prioritized', 'completed', 'failed', 'waiting-children'] as const;
export const QUEUES = [DELIVERIES_QUEUE, DEAD_LETTERS_QUEUE] as const;
const PAGE = 1_000;

/**
 * Copies both BullMQ queues except the hashes of their jobs, which `copyEnvelopeKeys` copies. A job keeps its state, and its
 * order among the jobs of the same old shard. A job that a worker did not finish stays active. BullMQ later finds it stalled
 * and runs it again.
 */
async function copyQueues(move: Move): Promise<void> {
  for (const queue of QUEUES) {
    for (const list of LISTS) await copyList(move, queue, list);
    for (const state of SORTED) await divide(move, { parts: [queue, state], type: 'sorted', envelopeOf: ofJob });
    await copySettings(move, queue);
  }
}

async function copyList({ from, to, writes }: Move, queue: string, list: string): Promise<void> {
  for (const shard of from.all)
    for (let at = 0; ; at += PAGE) {
      const ids = await shard.redis.lrange(shard.key(queue, list), at, at + PAGE - 1);
      for (const [target, part] of to.divide(ids, envelopeIdOf))
        writes.add(target, 100 * part.length, (pipeline) => pipeline.rpush(target.key(queue, list), ...part));
      await writes.relieve();
      if (ids.length < PAGE) break;
    }
}

/**
 * Gives every new shard the settings of all old shards. A queue that was paused in one old shard is paused in all new
 * shards.
 */
async function copySettings({ from, to, writes }: Move, queue: string): Promise<void> {
  const counters = { id: 0, pc: 0 };
  const meta: Record<string, string> = {};
  const markers: string[] = [];
  for (const shard of from.all) {
    Object.assign(meta, await shard.redis.hgetall(shard.key(queue, 'meta')));
    markers.push(...(await shard.redis.zrange(shard.key(queue, 'marker'), '0', '-1', 'WITHSCORES')));
    for (const name of ['id', 'pc'] as const)
      counters[name] = Math.max(counters[name], Number((await shard.redis.get(shard.key(queue, name))) ?? 0));
  }
  for (const shard of to.all)
    writes.add(shard, 500, (pipeline) => {
      if (Object.keys(meta).length > 0) pipeline.hset(shard.key(queue, 'meta'), meta);
      for (const name of ['id', 'pc'] as const)
        if (counters[name] > 0) pipeline.set(shard.key(queue, name), counters[name]);
      // A waiting worker looks for a job at the time of the earliest marker, so `LT` keeps the earliest time.
      for (let n = 0; n < markers.length; n += 2)
        pipeline.zadd(shard.key(queue, 'marker'), 'LT', markers[n + 1] ?? '0', markers[n] ?? '0');
    });
}

const ofJob = (member: Buffer): string => envelopeIdOf(member.toString());

/** Copies the keys of webhooks and origins, and the counts of repeats. Each entry goes to the shard of its envelope. */
async function copyDividedKeys(move: Move): Promise<void> {
  const { names } = move.inventory;
  for (const id of names.dead) await divide(move, { parts: ['dead', id], type: 'sorted', envelopeOf: ofJob });
  for (const id of names.held) {
    const targets = await divide(move, { parts: ['held', id], type: 'set', envelopeOf: ofJob });
    for (const shard of targets) move.writes.add(shard, 0, (pipeline) => pipeline.sadd(shard.key('held'), id));
  }
  for (const origin of names.unproven) {
    const parts = ['unproven', 'jobs', origin];
    const targets = await divide(move, { parts, type: 'sorted', envelopeOf: ofJob });
    for (const shard of targets)
      move.writes.add(shard, 0, (pipeline) => pipeline.sadd(shard.key('unproven', 'jobs'), origin));
  }
  for (const id of names.waiting) {
    const targets = await divide(move, { parts: ['waiting', id], type: 'hash', envelopeOf: ofJob });
    await move.writes.finish();
    for (const shard of targets) await sumWaiting(move, shard, id);
  }
  // A field consists of the 16 bytes of the id of an envelope, and a letter.
  const ofRepeat = (field: Buffer): string => uuidOf(field.subarray(0, 16));
  for (const name of names.repeats)
    await divide(move, { parts: ['repeats', ...name.split(':')], type: 'hash', envelopeOf: ofRepeat });
}

/** Sums up the bytes of a webhook's waiting bodies in a shard, and writes the sum into the index of the shard. */
async function sumWaiting({ writes }: Move, shard: Shard, webhookId: string): Promise<void> {
  const sizes = await shard.redis.hvals(shard.key('waiting', webhookId));
  const bytes = sizes.reduce((sum, size) => sum + Number(size), 0);
  writes.add(shard, 0, (pipeline) => pipeline.hset(shard.key('waiting'), webhookId, bytes));
}

/**
 * Copies the history of each webhook in its order. The index by envelope is built again, because its entries do not name
 * their envelopes. A line keeps its millisecond, but gets a new position within the millisecond.
 * @param windowMs `HISTORY_WINDOW` in milliseconds
 */
async function copyHistory(move: Move, windowMs: number): Promise<void> {
  const salt = await copySalt(move);
  for (const webhookId of move.inventory.names.history) await copyWebhookHistory(move, webhookId, salt, windowMs);
}

/**
 * Gives all new shards the salt of an old shard.
 * @returns the salt; if no old shard has one, a random salt that is not stored
 */
async function copySalt({ from, to, writes }: Move): Promise<string> {
  const found = await Promise.all(
    from.all.map(async (shard) => ({
      salt: await shard.redis.get(shard.key('history', 'salt')),
      life: await shard.redis.pttl(shard.key('history', 'salt')),
    })),
  );
  const salt = found.find((each) => each.salt !== null)?.salt ?? randomUUID();
  const life = Math.max(...found.map((each) => each.life));
  if (life > 0)
    for (const shard of to.all)
      writes.add(shard, 0, (pipeline) => pipeline.set(shard.key('history', 'salt'), salt, 'PX', life));
  return salt;
}

interface Line {
  /** The id of the line in the stream of its old shard. */
  readonly id: string;
  /** Epoch milliseconds. */
  readonly at: number;
  /** The position of the line within that millisecond, among the lines of all old shards. */
  readonly place: number;
  readonly fields: readonly string[];
}

/** Number of history lines that are read at once from one shard. */
const LINES = 500;

async function copyWebhookHistory(
  { from, to, writes }: Move,
  webhookId: string,
  salt: string,
  windowMs: number,
): Promise<void> {
  const last = new Map<Shard, { at: number; place: number }>();
  const lists = from.all.map(
    (shard, number) => (line: Line | undefined, count: number) =>
      linesOf(shard, webhookId, line?.id, count, { number, of: from.all.length }),
  );
  for await (const { at, fields } of merged(lists, oldestFirst, LINES)) {
    const [, short = ''] = fields;
    const envelopeId = idOf(short);
    const shard = to.of(envelopeId);
    const before = last.get(shard);
    const place = before?.at === at ? before.place + 1 : 0;
    last.set(shard, { at, place });
    const { hour, bucket, entry } = indexedLine(salt, envelopeId, webhookId, at);
    const index = shard.key('history', 'of', hour, bucket);
    writes.add(shard, 300, (pipeline) => {
      pipeline.xadd(shard.key('history', webhookId), `${at}-${place}`, ...fields);
      pipeline.rpush(index, entry);
      pipeline.pexpireat(index, hourExpiresAt(hour, windowMs));
    });
    await writes.relieve();
  }
  const lives = await Promise.all(from.all.map((shard) => shard.redis.pttl(shard.key('history', webhookId))));
  const life = Math.max(...lives);
  if (life > 0)
    for (const shard of last.keys())
      writes.add(shard, 0, (pipeline) => pipeline.pexpire(shard.key('history', webhookId), life));
}

const oldestFirst = (one: Line, other: Line): number => one.at - other.at || one.place - other.place;

async function linesOf(
  shard: Shard,
  webhookId: string,
  after: string | undefined,
  count: number,
  { number, of }: { number: number; of: number },
): Promise<Line[]> {
  const start = after === undefined ? '-' : `(${after}`;
  const entries = await shard.redis.xrange(shard.key('history', webhookId), start, '+', 'COUNT', count);
  return entries.map(([id, fields]) => {
    const [at = 0, place = 0] = id.split('-').map(Number);
    return { id, at, place: place * of + number, fields };
  });
}

/** The fields with the last failure and the last good answer as JSON. Every other field counts attempts of one hour. */
const FACTS = new Set(['last', 'good']);

/**
 * Copies the counts of attempts. The counts name no envelope, and readers sum them over all shards. So the counts of
 * old shard k simply go to the new shard with the number k modulo the number of new shards.
 */
async function copyFailures({ from, to, inventory, writes }: Move): Promise<void> {
  for (const webhookId of inventory.names.failed) {
    const sums = new Map<Shard, { fields: Map<string, string>; life: number }>();
    for (const [number, shard] of from.all.entries()) {
      const key = shard.key('failed', webhookId);
      const [fields, life] = await Promise.all([shard.redis.hgetall(key), shard.redis.pttl(key)]);
      if (Object.keys(fields).length === 0) continue;
      const target = to.all[number % to.all.length] as Shard;
      const sum = sums.get(target) ?? { fields: new Map<string, string>(), life };
      for (const [name, value] of Object.entries(fields))
        sum.fields.set(name, joined(name, value, sum.fields.get(name)));
      sums.set(target, { ...sum, life: Math.max(sum.life, life) });
    }
    for (const [shard, { fields, life }] of sums)
      writes.add(shard, 500, (pipeline) => {
        pipeline.hset(shard.key('failed', webhookId), Object.fromEntries(fields));
        if (life > 0) pipeline.pexpire(shard.key('failed', webhookId), life);
      });
    await writes.relieve();
  }
}

function joined(name: string, value: string, other: string | undefined): string {
  if (other === undefined) return value;
  if (!FACTS.has(name)) return String(Number(value) + Number(other));
  return timeOf(value) > timeOf(other) ? value : other;
}

const timeOf = (facts: string): number => (JSON.parse(facts) as { at: number }).at;

/**
 * Copies the lines of notices that no worker has reported yet. With one shard, the lines are in global keys and stay there.
 */
async function copyNotices({ from, to, writes }: Move): Promise<void> {
  const [first] = to.all;
  for (const shard of from.all) {
    if (shard.isGlobal || first === undefined) continue;
    const lines = await shard.redis.zrange(shard.key('notices'), '0', '-1', 'WITHSCORES');
    for (let n = 0; n < lines.length; n += 2)
      writes.add(first, 500, (pipeline) =>
        pipeline.zadd(first.key('notices'), 'NX', lines[n + 1] ?? '0', lines[n] ?? ''),
      );
  }
}
