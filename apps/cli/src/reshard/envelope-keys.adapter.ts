import { envelopeIdOf } from '@relay/jobs';
import type { Shard } from '@relay/redis';
import { kindOf } from './key-kinds.js';
import type { Move } from './move.js';
import { addEntries, answersOf, entriesIn, entriesOf, keysOf, type Entry, type Type } from './scan.adapter.js';

/** Read at once: a body has up to 256 KiB and more. */
const AT_ONCE = 50;

interface WholeKey {
  readonly key: string;
  readonly type: Type;
  readonly envelopeId: string;
}

/** Copies the keys that belong to one envelope each: jobs and dead letters, bodies, indexes by envelope. */
export async function copyEnvelopeKeys(move: Move): Promise<void> {
  for (const shard of move.from.all)
    for await (const page of keysOf(shard)) {
      const own = page.flatMap((key) => wholeKey(shard, key) ?? []);
      for (let at = 0; at < own.length; at += AT_ONCE) await copyAll(move, shard, own.slice(at, at + AT_ONCE));
    }
}

function wholeKey({ tag }: Shard, key: string): WholeKey | undefined {
  const known = kindOf(tag, key);
  if (known?.kind === 'job') return { key, type: 'hash', envelopeId: envelopeIdOf(known.name.split(':')[1] ?? '') };
  if (known?.kind === 'body') return { key, type: 'hash', envelopeId: known.name.split('_')[0] ?? '' };
  return known?.kind === 'unsettled' ? { key, type: 'set', envelopeId: known.name } : undefined;
}

async function copyAll({ to, writes }: Move, shard: Shard, keys: readonly WholeKey[]): Promise<void> {
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
