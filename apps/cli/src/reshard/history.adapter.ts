import { randomUUID } from 'node:crypto';
import { hourExpiresAt, idOf, indexedLine, merged } from '@relay/history';
import type { Shard } from '@relay/redis';
import type { Move } from './inventory.adapter.js';

const PAGE = 500;

interface Line {
  /** As it is in the stream of its old shard. */
  readonly id: string;
  readonly at: number;
  /** Its position within that millisecond among the lines of all old shards. */
  readonly place: number;
  readonly fields: readonly string[];
}

/**
 * Copies the history of each webhook in its order, with an index by envelope that is made anew: its entries do not tell the envelope.
 * A line keeps its millisecond; its place within that is counted again.
 * @param windowMs `HISTORY_WINDOW` in milliseconds
 */
export async function copyHistory(move: Move, windowMs: number): Promise<void> {
  const salt = await copySalt(move);
  for (const webhookId of move.inventory.names.history) await copyWebhook(move, webhookId, salt, windowMs);
}

/** One salt for all new shards: that of an old one where there is one. */
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

async function copyWebhook(
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
  for await (const { at, fields } of merged(lists, oldestFirst, PAGE)) {
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
