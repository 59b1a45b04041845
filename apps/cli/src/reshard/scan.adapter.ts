import type { Shard } from '@relay/redis';
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

type Scanned = Promise<[cursor: Buffer, elements: Buffer[]]>;

function scanOf(redis: Redis, type: Type, key: string, cursor: string): Scanned {
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

/** The elements of an answer to a scan as entries. */
export function entriesIn(type: Type, elements: readonly Buffer[]): Entry[] {
  const size = type === 'set' ? 1 : 2;
  return Array.from({ length: elements.length / size }, (_, n) => elements.slice(n * size, (n + 1) * size));
}

/** Adds entries to a key of this type. */
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
