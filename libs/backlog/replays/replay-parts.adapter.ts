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

/** Key of a hash of the running and paused replays: range key → replay id. */
export const REPLAYS = globalKey('replays');
/** Key of the set of the range keys of the paused replays. */
export const PAUSED = globalKey('replays', 'paused');
/**
 * Key of the sorted set of recently ended replays. Each entry is `<id> <range key>`, and its score is the end time. It is
 * used only with several shards.
 */
export const ENDED = globalKey('replays', 'ended');
/** Returns the key of the hash that describes a replay as it was requested. */
export const replayKeyOf = (id: string): string => globalKey('replay', id);
/**
 * Returns the key of the hash of a replay's ranges. The hash maps `<topic>/<partition>` to ranges, and its field `endedAt`
 * is the end time. With one shard, it has the ranges that still have to be delivered. With several shards, it has the ranges
 * as they were ordered.
 */
export const orderKeyOf = (...rangeKey: readonly string[]): string => globalKey('parked', ...rangeKey);

const endReplay = defineScript('replay-end', endReplayLua);
const resumeEnded = defineScript('replay-resume-ended', resumeEndedLua);

/**
 * If a shard loses the end of a replay, the workers notice for this long, in ms. They check only the last MOST_ENDED replays
 * that ended.
 */
const ENDED_MS = 86_400_000;
const MOST_ENDED = 200;

/**
 * The remaining ranges of a replay in one partition (with several shards: in one shard of the partition), and how many of
 * its deliveries were delivered or failed.
 */
export type ReplayPart = ReturnType<typeof readReplay>;

/**
 * Replays with several shards. An order is the stored request for a replay. A script runs in one shard only, so it cannot
 * store an order in all of them. Therefore an order is stored only in the global slot. The owner of each partition and shard
 * copies its part to the index of that shard, unless the index already has the part. A part that has ended stays in the
 * index. If a shard loses its latest writes, it loses the part as well, so the owner copies it again.
 */
export class ReplayParts {
  constructor(
    private readonly redis: Redis,
    private readonly shards: Shards,
  ) {}

  /** Returns what the index of each shard has of a replay: `<topic>/<partition>` → text of the ranges. */
  of(key: string): Promise<Record<string, string>[]> {
    return Promise.all(this.shards.all.map((shard) => indexOf(shard, key)));
  }

  /**
   * Returns the parts of a partition and shard by range key, from the index of the shard. If the index does not have a part
   * yet, it is returned as it was ordered. If the replay has no records in the partition, the part has no ranges.
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
   * Returns true if every part was copied to its shard and has ended, or if the order has expired. Stops asking shards at
   * the first unfinished part.
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

  /**
   * Removes the parts of replays that are no longer kept from all shards. On a shard that is unavailable they stay until
   * they expire.
   */
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
 * Returns the ranges without the records that already wait in the log for the parked webhook, because the webhook gets these
 * records anyway. With several shards, an offset is left out only if it waits in all shards. If it waits only in some
 * shards, its record may belong to another shard, in which it may already have been delivered. A replay of dead letters
 * keeps all ranges.
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
      // If a shard is unavailable, its waiting records are unknown. The replay then covers all records of the range.
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
