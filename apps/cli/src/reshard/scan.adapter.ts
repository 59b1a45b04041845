import type { Shard, Shards } from '@relay/redis';
import type { ChainableCommander, Redis } from 'ioredis';

/** Keys that one SCAN looks at, and entries of one key that are read at once. */
const LOOKED_AT = 1_000;

/** All keys with the tag of a shard, a page at a time. Redis may return a key more than once. */
export async function* keysOf({ redis, tag }: Pick<Shard, 'redis' | 'tag'>): AsyncGenerator<string[]> {
  let cursor = '0';
  do {
    const [next, keys] = await redis.scan(cursor, 'MATCH', `${tag}:*`, 'COUNT', LOOKED_AT);
    cursor = next;
    if (keys.length > 0) yield keys;
  } while (cursor !== '0');
}

export type Type = 'hash' | 'set' | 'sorted';
/** Member or field, then value or score where the type has one. */
export type Entry = readonly Buffer[];

function scanOf(redis: Redis, type: Type, key: string, cursor: string): Promise<[cursor: Buffer, elements: Buffer[]]> {
  if (type === 'hash') return redis.hscanBuffer(key, cursor, 'COUNT', LOOKED_AT);
  if (type === 'set') return redis.sscanBuffer(key, cursor, 'COUNT', LOOKED_AT);
  return redis.zscanBuffer(key, cursor, 'COUNT', LOOKED_AT);
}

/** The entries of a key, a page at a time. Redis may return one more than once. */
export async function* entriesOf(redis: Redis, type: Type, key: string): AsyncGenerator<Entry[]> {
  let cursor = '0';
  do {
    const [next, elements] = await scanOf(redis, type, key, cursor);
    cursor = next.toString();
    if (elements.length > 0) yield entriesIn(type, elements);
  } while (cursor !== '0');
}

export function entriesIn(type: Type, elements: readonly Buffer[]): Entry[] {
  const size = type === 'set' ? 1 : 2;
  return Array.from({ length: elements.length / size }, (_, n) => elements.slice(n * size, (n + 1) * size));
}

export function addEntries(pipeline: ChainableCommander, type: Type, key: string, entries: readonly Entry[]): void {
  if (type === 'hash') pipeline.hset(key, ...entries.flat());
  else if (type === 'set') pipeline.sadd(key, ...entries.flat());
  else pipeline.zadd(key, ...entries.flatMap(([member = '', score = '']) => [score, member]));
}

/** The answers of a pipeline. @throws the first error among them */
export async function answersOf(pipeline: ChainableCommander): Promise<unknown[]> {
  return ((await pipeline.exec()) ?? []).map(([error, answer]) => {
    if (error !== null) throw error;
    return answer;
  });
}

/** Limits of one pipeline, in commands and bytes: a server gets it at once, and this process keeps it in memory. */
const MOST_COMMANDS = 500;
const MOST_BYTES = 1_048_576;

interface Open {
  readonly pipeline: ChainableCommander;
  commands: number;
  bytes: number;
}

/** Writes to shards, collected in a pipeline for each connection. */
export class Writes {
  readonly #open = new Map<Redis, Open>();

  /** Writes later. @param bytes about how many it carries */
  add({ redis }: Shard, bytes: number, command: (pipeline: ChainableCommander) => void): void {
    const open = this.#open.get(redis) ?? { pipeline: redis.pipeline(), commands: 0, bytes: 0 };
    this.#open.set(redis, open);
    command(open.pipeline);
    open.commands += 1;
    open.bytes += bytes;
  }

  /** Sends the pipelines that have become long. @throws when a write fails */
  async relieve(): Promise<void> {
    await this.#send(({ commands, bytes }) => commands >= MOST_COMMANDS || bytes >= MOST_BYTES);
  }

  async finish(): Promise<void> {
    await this.#send(() => true);
  }

  async #send(isDue: (open: Open) => boolean): Promise<void> {
    const due = [...this.#open].filter(([, open]) => isDue(open));
    for (const [redis] of due) this.#open.delete(redis);
    await Promise.all(due.map(([, { pipeline }]) => answersOf(pipeline)));
  }
}

/**
 * Copies one key with entries of many envelopes, which each shard has under the same name. The copy gets the longest lifetime
 * of the old keys.
 * @returns the shards that got a part
 */
export async function divide(
  { from, to, writes }: { readonly from: Shards; readonly to: Shards; readonly writes: Writes },
  { parts, type, envelopeOf }: { parts: readonly string[]; type: Type; envelopeOf: (member: Buffer) => string },
): Promise<ReadonlySet<Shard>> {
  const targets = new Set<Shard>();
  const lives: number[] = [];
  for (const shard of from.all) {
    const ttl = await shard.redis.pttl(shard.key(...parts));
    if (ttl !== -2) lives.push(ttl === -1 ? Infinity : ttl);
    for await (const entries of entriesOf(shard.redis, type, shard.key(...parts))) {
      for (const [target, part] of to.divide<Entry>(entries, ([member]) => envelopeOf(member ?? Buffer.alloc(0)))) {
        targets.add(target);
        writes.add(target, 100 * part.length, (pipeline) => addEntries(pipeline, type, target.key(...parts), part));
      }
      await writes.relieve();
    }
  }
  const life = Math.max(0, ...lives);
  if (life > 0 && life < Infinity)
    for (const target of targets) writes.add(target, 0, (pipeline) => pipeline.pexpire(target.key(...parts), life));
  return targets;
}
