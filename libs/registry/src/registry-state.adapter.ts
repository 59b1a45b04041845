import { runScript, type ViewPart } from '@relay/redis';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import { PARTS, RESULTS_KEY, RESULTS_ORDER } from './registry.script.js';
import { FIELDS, VALUES } from './snapshot-read.script.js';
import { RESULTS_PART } from './snapshot.script.js';

/** Limits of one call to Redis and of one record of a snapshot. */
const ITEMS = 100;
const BYTES = 48 * 1024;

const Strings = z.array(z.string());
const Scanned = z.tuple([z.string(), Strings]);

/** A part of the view as a record of a snapshot: `count` items with equally many texts each. */
export interface StateSlice {
  readonly part: string;
  readonly count: number;
  readonly items: readonly string[];
}

/**
 * The state for a snapshot, in slices, each item once. It is consistent only while nothing changes; the registry verifies it.
 * @param begin offset of the snapshot's first record
 */
export async function* readState(redis: Redis, begin: number): AsyncGenerator<StateSlice> {
  for (const part of PARTS)
    for await (const items of itemsOf(redis, part))
      if (items.length > 0) yield { part: part.name, count: items.length / 2, items };
  for await (const items of resultsOf(redis, begin)) yield { part: RESULTS_PART, count: items.length / 3, items };
}

async function* itemsOf(redis: Redis, { key, kind }: ViewPart): AsyncGenerator<readonly string[]> {
  if (kind === 'hash') {
    yield* hashOf(redis, key);
    return;
  }
  if (kind === 'string') {
    const value = await redis.get(key);
    yield value === null ? [] : ['', value];
    return;
  }
  for (let from = 0; ; from += ITEMS) {
    const items = await redis.zrange(key, String(from), String(from + ITEMS - 1), 'WITHSCORES');
    if (items.length === 0) return;
    yield items;
  }
}

async function* hashOf(redis: Redis, key: string): AsyncGenerator<readonly string[]> {
  const fields = new Set<string>();
  let cursor = '0';
  do {
    const [next, found] = Scanned.parse(await runScript(redis, FIELDS, [key], [cursor, ITEMS]));
    cursor = next;
    for (const field of found) fields.add(field);
  } while (cursor !== '0');
  const left = [...fields];
  for (let at = 0; at < left.length;) {
    const asked = left.slice(at, at + ITEMS);
    const values = Strings.parse(await runScript(redis, VALUES, [key], [BYTES, ...asked]));
    if (values.length === 0) throw new Error('Redis went back in time while a snapshot was made');
    yield values.flatMap((value, index) => [asked[index] ?? '', value]);
    at += values.length;
  }
}

/** Only results of commands before the snapshot: later commands are in the log. */
async function* resultsOf(redis: Redis, begin: number): AsyncGenerator<readonly string[]> {
  for (let from = 0; ; from += ITEMS) {
    const scored = await redis.zrangebyscore(RESULTS_ORDER, '-inf', `(${begin}`, 'WITHSCORES', 'LIMIT', from, ITEMS);
    if (scored.length === 0) return;
    const ids = scored.filter((_, index) => index % 2 === 0);
    const texts = await redis.hmget(RESULTS_KEY, ...ids);
    yield ids.flatMap((id, index) => [id, String(begin - Number(scored[2 * index + 1])), texts[index] ?? '']);
  }
}
