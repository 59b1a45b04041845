import { uuidOf } from '@relay/events';
import type { Shard } from '@relay/redis';
import type { Move } from './move.js';
import { addEntries, answersOf, entriesIn, entriesOf, type Entry } from './scan.adapter.js';
import { bucketOf, newGenerations, openedAt, type Generation, type NewGeneration, type OldMarks } from './seen-plan.js';

/** Buckets read at once, of up to some hundred ids. */
const AT_ONCE = 200;

/** The seen marks of a shard: its generations with their ids counted, bucket by bucket. */
export async function marksOf(shard: Shard): Promise<OldMarks> {
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

/** Copies the seen marks. An id has a mark in one generation of one old shard. */
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
