import { envelopeIdOf } from '@relay/jobs';
import { uuidOf } from '@relay/events';
import type { Shard } from '@relay/redis';
import type { Move } from './move.js';
import { addEntries, entriesOf, type Entry, type Type } from './scan.adapter.js';

/** A key with entries of many envelopes, which each shard has under the same name. */
interface Divided {
  readonly parts: readonly string[];
  readonly type: Type;
  /** The envelope of a member or field. */
  readonly envelopeOf: (member: Buffer) => string;
}

const ofJob = (member: Buffer): string => envelopeIdOf(member.toString());

/** Copies what is kept by webhook or origin, and the counts of repeats: each entry to the shard of its envelope. */
export async function copyDividedKeys(move: Move): Promise<void> {
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
  // A field is the 16 bytes of an id and a letter.
  const ofRepeat = (field: Buffer): string => uuidOf(field.subarray(0, 16));
  for (const name of names.repeats)
    await divide(move, { parts: ['repeats', ...name.split(':')], type: 'hash', envelopeOf: ofRepeat });
}

/** Copies one key of all shards. It lives as long as the one that would live longest. @returns the shards that got a part */
export async function divide(
  { from, to, writes }: Pick<Move, 'from' | 'to' | 'writes'>,
  key: Divided,
): Promise<ReadonlySet<Shard>> {
  const { parts, type, envelopeOf } = key;
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

/** The index of the waiting jobs of a shard has the bytes of each webhook's bodies. */
async function sumWaiting({ writes }: Move, shard: Shard, webhookId: string): Promise<void> {
  const sizes = await shard.redis.hvals(shard.key('waiting', webhookId));
  const bytes = sizes.reduce((sum, size) => sum + Number(size), 0);
  writes.add(shard, 0, (pipeline) => pipeline.hset(shard.key('waiting'), webhookId, bytes));
}
