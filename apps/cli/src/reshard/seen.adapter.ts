import { uuidOf } from '@relay/events';
import type { Shard } from '@relay/redis';
import { addEntries, answersOf, entriesIn, entriesOf, type Entry, type Move } from './layout.adapter.js';

/** A generation of seen marks in one shard: marks that expire together (`libs/log/dedupe`, `seen-mark.script.ts`). */
interface Generation {
  readonly number: number;
  readonly bits: number;
  /** Epoch seconds. */
  readonly expires: number;
  readonly ids: number;
}

type OldMarks = Awaited<ReturnType<typeof marksOf>>;
type NewGeneration = ReturnType<typeof newGenerations>[number];

/** Number of buckets that are read at once. A bucket can contain some hundred ids. */
const AT_ONCE = 200;

const DAY_S = 86_400;
/** Minimum of `bits`, as in `seen-mark.script.ts`. A generation has 2 to the power of `bits` buckets. */
const FIRST_BITS = 8;
/** Average number of ids in a bucket. Redis keeps a hash of up to 128 fields as a listpack, which needs the least memory. */
const AIM = 48;

/**
 * Returns the seen marks of a shard: its generations, newest first, with the number of their ids. `openedAt` is the time at
 * which the newest generation was opened, in epoch seconds.
 */
export async function marksOf(shard: Shard) {
  const [text, opened] = await shard.redis.hmget(shard.key('seen'), 'generations', 'openedAt');
  const generations: Generation[] = [];
  for (const entry of (text ?? '').split(' ').filter((each) => each !== '')) {
    const [number = 0, bits = 0, expires = 0] = entry.split(':').map(Number);
    generations.push({ number, bits, expires, ids: await idsOf(shard, number, bits) });
  }
  return { generations, openedAt: Number(opened ?? 0) };
}

async function idsOf(shard: Shard, number: number, bits: number): Promise<number> {
  let ids = 0;
  for (let bucket = 0; bucket < 2 ** bits; bucket += AT_ONCE) {
    const reads = shard.redis.pipeline();
    for (let n = bucket; n < Math.min(2 ** bits, bucket + AT_ONCE); n += 1) reads.hlen(shard.key('seen', number, n));
    ids += (await answersOf(reads)).reduce<number>((sum, length) => sum + Number(length), 0);
  }
  return ids;
}

/** Copies the seen marks. An id has its mark in one generation of one old shard. */
export async function copySeen(move: Move): Promise<void> {
  const { from, to, writes } = move;
  const old: OldMarks[] = [];
  for (const shard of from.all) old.push(await marksOf(shard));
  const generations = newGenerations(old, to.all.length);
  const [newest] = generations;
  if (newest === undefined) return;
  for (const generation of generations)
    for (const [number, taken] of generation.takes)
      await copyGeneration(move, from.all[number] as Shard, taken, generation);
  const text = generations.map(({ number, bits, expires }) => `${number}:${bits}:${expires}`).join(' ');
  const fields = { generations: text, openedAt: openedAt(old), count: newest.ids };
  for (const shard of to.all) writes.add(shard, 100, (pipeline) => pipeline.hset(shard.key('seen'), fields));
}

async function copyGeneration(
  move: Move,
  shard: Shard,
  { number, bits }: Generation,
  to: NewGeneration,
): Promise<void> {
  for (let bucket = 0; bucket < 2 ** bits; bucket += AT_ONCE) {
    const keys = Array.from({ length: Math.min(AT_ONCE, 2 ** bits - bucket) }, (_, n) =>
      shard.key('seen', number, bucket + n),
    );
    const reads = shard.redis.pipeline();
    for (const key of keys) reads.hscanBuffer(key, 0, 'COUNT', 1_000);
    for (const [n, answer] of (await answersOf(reads)).entries()) {
      const [cursor, elements] = answer as [Buffer, Buffer[]];
      if (cursor.toString() === '0') copyBucket(move, entriesIn('hash', elements), to);
      else for await (const marks of entriesOf(shard.redis, 'hash', keys[n] ?? '')) copyBucket(move, marks, to);
      await move.writes.relieve();
    }
  }
}

function copyBucket({ to, writes }: Move, marks: readonly Entry[], { number, bits, expires }: NewGeneration): void {
  const parts = new Map<string, { shard: Shard; marks: Entry[] }>();
  for (const mark of marks) {
    const [id = Buffer.alloc(16)] = mark;
    const shard = to.of(uuidOf(id));
    const key = shard.key('seen', number, bucketOf(id, bits));
    const part = parts.get(key) ?? { shard, marks: [] };
    parts.set(key, part);
    part.marks.push(mark);
  }
  for (const [key, { shard, marks: own }] of parts)
    writes.add(shard, 50 * own.length, (pipeline) => {
      addEntries(pipeline, 'hash', key, own);
      pipeline.expireat(key, expires);
    });
}

/**
 * Returns the generations of the new shards, newest first. Old generations that expire within a day of one another become
 * one generation, because a look-up reads every generation, and 16 old shards have 16 times as many as one shard. The new
 * generation expires with the last of the old ones, so a mark can live up to a day longer.
 */
function newGenerations(old: readonly OldMarks[], shards: number) {
  const all = old
    .flatMap(({ generations }, shard) => generations.map((generation) => [shard, generation] as const))
    .toSorted(([, one], [, other]) => other.expires - one.expires);
  const groups: (typeof all)[] = [];
  for (const each of all) {
    const first = groups.at(-1)?.[0];
    if (first !== undefined && first[1].expires - each[1].expires < DAY_S) groups.at(-1)?.push(each);
    else groups.push([each]);
  }
  return groups.map((takes, index) => {
    const ids = Math.ceil(takes.reduce((sum, [, generation]) => sum + generation.ids, 0) / shards);
    const bits = Math.max(FIRST_BITS, Math.ceil(Math.log2(Math.max(1, ids / AIM))));
    return { number: groups.length - index, bits, expires: takes[0]?.[1].expires ?? 0, ids, takes };
  });
}

/**
 * Returns when the newest generation of the new shards counts as opened, in epoch seconds. This is the earliest time of the
 * old shards. With a later time, marks could be added to the generation that expire with it before the window of their ids
 * has ended.
 */
const openedAt = (old: readonly OldMarks[]): number =>
  Math.min(...old.filter(({ generations }) => generations.length > 0).map((marks) => marks.openedAt));

function bucketOf(id: Buffer, bits: number): number {
  let folded = id.readUInt32BE(0) ^ id.readUInt32BE(4) ^ id.readUInt32BE(8) ^ id.readUInt32BE(12);
  folded ^= folded >>> 16;
  return (folded >>> 0) % 2 ** bits;
}
