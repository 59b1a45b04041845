import {
  type LogPartition,
  parkedKey,
  type ParkedRange,
  parkingKey,
  readRanges,
  readReplay,
  without,
} from '@relay/progress';
import { defineScript, globalKey, runScript, type Shard, type Shards } from '@relay/redis';
import type { Redis } from 'ioredis';
import type { NewReplay, ReplayRange } from './replays.adapter.js';
import { endReplayLua, resumeEndedLua } from './replays.script.js';

/** Hash of the running and paused replays, range key → id. */
export const REPLAYS = globalKey('replays');
/** Set of the range keys of the paused replays. */
export const PAUSED = globalKey('replays', 'paused');
/** With several shards: sorted set of the replays that ended lately, each `<id> <range key>`, by the time of their end. */
export const ENDED = globalKey('replays', 'ended');
/** Hash of a replay: the facts of its order. */
export const replayKeyOf = (id: string): string => globalKey('replay', id);
/**
 * Hash of a range key, `<topic>/<partition>` → its ranges there, and `endedAt`. With one shard, the hash has the ranges that are
 * left. With several shards, it has the ranges as they were ordered.
 */
export const orderKeyOf = (...rangeKey: readonly string[]): string => globalKey('parked', ...rangeKey);

const endReplay = defineScript('replay-end', endReplayLua);
const resumeEnded = defineScript('replay-resume-ended', resumeEndedLua);

/**
 * For this long after the end of a replay, in ms, workers notice a shard that has lost this end. They look only at the last
 * MOST_ENDED replays that ended.
 */
const ENDED_MS = 86_400_000;
const MOST_ENDED = 200;

/** Rest of a replay in one partition, or in one shard of it, and how its deliveries ended. */
export type ReplayPart = ReturnType<typeof readReplay>;

/**
 * Replays over several shards. No script can store an order in all of them, so it is in the global slot alone. The owner of a
 * partition and shard takes its part up from there, unless the index of the shard shows that it did. A shard that loses its latest
 * writes loses those of its index too, so its part is taken up again. A part that has ended stays in the index.
 */
export class ReplayParts {
  constructor(
    private readonly redis: Redis,
    private readonly shards: Shards,
  ) {}

  /** Returns each shard's view of a replay, as `<topic>/<partition>` → range text. */
  of(key: string): Promise<Record<string, string>[]> {
    return Promise.all(this.shards.all.map((shard) => indexOf(shard, key)));
  }

  /**
   * Returns the parts of a partition and shard by range key, as the shard's index has them. A part that is not taken up yet is as
   * it was ordered. The part of a partition without records has no ranges.
   */
  async rangesOf(
    { topic, partition, shard: number = 0 }: LogPartition,
    keys: readonly string[],
  ): Promise<Map<string, ReplayPart>> {
    const name = `${topic}/${partition}`;
    const shard = this.shards.all[number];
    if (shard === undefined) throw new RangeError(`there is no shard ${number} of ${name}`);
    const found = await Promise.all(
      keys.map(async (key) => {
        const taken = await shard.redis.hget(parkedKey(shard, key), name);
        return readReplay(taken ?? (await this.redis.hget(orderKeyOf(key), name)) ?? '');
      }),
    );
    return new Map(keys.map((key, index) => [key, found[index] as ReplayPart]));
  }

  async ended(): Promise<ReadonlyMap<string, string>> {
    const all = await this.redis.zrange(ENDED, '0', '-1');
    return new Map(
      all.map((entry) => {
        const [id = '', key = ''] = entry.split(' ');
        return [key, id];
      }),
    );
  }

  async endDone(keys: readonly string[]): Promise<void> {
    for (const key of keys)
      if (await this.#isDone(key))
        await runScript(this.redis, endReplay, [orderKeyOf(key), REPLAYS, PAUSED, ENDED], [key, ENDED_MS, MOST_ENDED]);
  }

  /**
   * Returns whether every part was taken up and has ended, or the order has expired. Asks no further shard after the first
   * unfinished part.
   */
  async #isDone(key: string): Promise<boolean> {
    const names = Object.keys(await this.redis.hgetall(orderKeyOf(key))).filter((name) => name.includes('/'));
    if (names.length === 0) return true;
    for (const shard of this.shards.all) {
      const taken = await indexOf(shard, key);
      if (!names.every((name) => taken[name]?.startsWith('|') === true)) return false;
    }
    return true;
  }

  async resumeEnded(key: string, id: string): Promise<boolean> {
    const keys = [orderKeyOf(key), REPLAYS, ENDED, replayKeyOf(id)];
    return (await runScript(this.redis, resumeEnded, keys, [key, id])) === 1;
  }

  /** Removes what the shards show of replays that are kept no longer. A shard that is away keeps it until it expires. */
  async forget(keys: readonly string[]): Promise<void> {
    if (keys.length === 0) return;
    await Promise.allSettled(
      this.shards.all.map((shard) => shard.redis.unlink(...keys.map((key) => parkedKey(shard, key)))),
    );
  }
}

const indexOf = (shard: Shard, key: string): Promise<Record<string, string>> =>
  shard.redis.hgetall(parkedKey(shard, key));

/**
 * Returns the ranges without the records that wait in the log for the webhook, which it gets anyway. With several shards, only
 * records that wait in all of them are left out: a record that one shard has caught up can be replayed. A replay of dead letters
 * needs none of this.
 */
export async function unwaitedRanges(
  shards: Shards,
  { webhookId, status }: Pick<NewReplay, 'webhookId' | 'status'>,
  ranges: readonly ReplayRange[],
): Promise<readonly ReplayRange[]> {
  if (status === 'failed') return ranges;
  const left = await Promise.all(
    ranges.map(async ({ topic, partition, from, end }) => {
      const at = { topic, partition };
      // If a shard is away, no record is left out.
      const texts = await Promise.all(
        shards.all.map((shard) => shard.redis.hget(parkingKey(shard, at), webhookId).catch(() => null)),
      );
      const [first = [], ...others] = texts.map((text) => readRanges(text ?? ''));
      const waiting = others.reduce<readonly ParkedRange[]>((all, of) => without(all, without(all, of)), first);
      return without([{ from, to: end }], waiting).map((part) => ({
        topic,
        partition,
        from: part.from,
        end: part.to ?? end,
      }));
    }),
  );
  return left.flat();
}

export function partitionsOf(
  ranges: readonly ReplayRange[],
): (LogPartition & { readonly ranges: readonly ParkedRange[] })[] {
  const found = new Map<string, LogPartition & { readonly ranges: ParkedRange[] }>();
  for (const { from, end, ...at } of ranges) {
    const name = `${at.topic}/${at.partition}`;
    const known = found.get(name) ?? { ...at, ranges: [] };
    known.ranges.push({ from, to: end });
    found.set(name, known);
  }
  return [...found.values()];
}
