import {
  type LogPartition,
  offsetsIn,
  parkingKey,
  rangeKeyPrefix,
  rangesText,
  readRangeKey,
  readReplay,
  REPLAY_KEPT_S,
} from '@relay/progress';
import { defineScript, globalKey, runScript, type Shards } from '@relay/redis';
import type { Redis } from 'ioredis';
import {
  orderKeyOf,
  partitionsOf,
  PAUSED,
  replayKeyOf,
  ReplayParts,
  type ReplayPart,
  REPLAYS,
  unwaitedRanges,
} from './replay-parts.adapter.js';
import { replayStatus, type ReplayStatus } from './replay-status.js';
import { cancelReplayLua, createReplayLua, pauseReplayLua, runningReplayLua } from './replays.script.js';

const running = defineScript('replay-running', runningReplayLua);
const create = defineScript('replay-create', createReplayLua);
const cancel = defineScript('replay-cancel', cancelReplayLua);
const pause = defineScript('replay-pause', pauseReplayLua);

/**
 * Seconds for which a replay without records is kept. This time is short because a partner may order any number of such
 * replays.
 */
const KEPT_EMPTY_S = 600;
/** Maximum of replays that are kept for one webhook. Without this limit, repeated orders would fill Redis. */
const KEPT_OF_WEBHOOK = 20;
/** Maximum of replays that a partner can list. It is enough for all kept replays of 1,000 webhooks. */
const LISTED_OF_PARTNER = 1_000 * KEPT_OF_WEBHOOK;
const SERIES = globalKey('replays', 'series');
/** Key of the sorted set of the ids of all replays by creation time. */
const ALL = globalKey('replays', 'all');
/**
 * Returns the key of the sorted set of the ids of a partner's newest replays by creation time. Some of the replays may have
 * expired.
 */
const partnerKeyOf = (partnerId: string): string => globalKey('replays', 'by', partnerId);
/** Returns the key of the list of a webhook's newest replays, newest first. Each entry is `<id> <range key>`. */
const newestKeyOf = (webhookId: string): string => globalKey('replays', 'of', webhookId);

/** Offsets of a partition that are to be delivered again: from `from` up to, but not including, `end`. */
export interface ReplayRange extends LogPartition {
  readonly from: number;
  readonly end: number;
}

export interface ReplayPaging {
  readonly limit: number;
  /** `next` of the previous page. */
  readonly cursor?: string | undefined;
}

/** A page of replays, newest first. `next` is present if more replays may follow. */
export interface ReplayPage {
  readonly replays: readonly ReplayStatus[];
  readonly next?: string;
}

/** The members of a replay that are set when it is ordered. */
export type NewReplay = Pick<
  ReplayStatus,
  'id' | 'webhookId' | 'partnerId' | 'eventType' | 'status' | 'since' | 'until' | 'orderedBy'
>;

interface Dated {
  readonly id: string;
  readonly at: number;
}

/**
 * Returns the cursor after a page. It has the id of the last replay on the page, and the time of its order, which is used if
 * that replay is no longer kept.
 */
export const replayCursor = (id: string, createdAt: number): string => `${createdAt}.${id}`;

function readCursor(cursor = ''): Dated {
  const [at = '', id = ''] = cursor.split('.');
  return { id, at: at === '' ? Infinity : Number(at) };
}

/**
 * Stores replays in Redis. The worker that owns a partition delivers the ranges of that partition again to the webhook of
 * the replay.
 *
 * With one shard, an order adds the ranges to the hash that also has the ranges of parked webhooks. The ranges therefore
 * move with the partition to its next owner, which continues from the stored cursor after a crash. With several shards, an
 * order is stored in the global slot, and each owner copies its part from there (see `ReplayParts`).
 */
export class Replays {
  /** Undefined if there is only one shard. */
  readonly #parts: ReplayParts | undefined;

  /** @param redis connection to the shard of the global slot */
  constructor(
    private readonly redis: Redis,
    private readonly shards: Shards,
  ) {
    this.#parts = shards.all.length === 1 ? undefined : new ReplayParts(redis, shards);
  }

  /** Returns the ranges without the records that wait in the log for the webhook. */
  unwaited(target: Pick<NewReplay, 'webhookId' | 'status'>, ranges: readonly ReplayRange[]) {
    return unwaitedRanges(this.shards, target, ranges);
  }

  /**
   * Stores a new replay, unless the webhook already has a replay that is running or paused.
   * @returns the id of that other replay; undefined if the new replay was stored
   */
  async create(replay: NewReplay, ranges: readonly ReplayRange[], now: number): Promise<string | undefined> {
    const { id, webhookId, partnerId, eventType, status, since = '', until = '', orderedBy } = replay;
    const wanted = partitionsOf(ranges.filter(({ from, end }) => from < end));
    const matched = wanted.reduce((sum, { ranges: parts }) => sum + offsetsIn(parts, 0, 0), 0);
    const fields = { id, webhookId, partnerId, eventType, status, since, until, orderedBy, matched };
    const [only, ...others] = this.shards.all;
    const keys = [
      newestKeyOf(webhookId),
      REPLAYS,
      PAUSED,
      replayKeyOf(id),
      SERIES,
      orderKeyOf(),
      ALL,
      partnerKeyOf(partnerId),
      // With one shard, the ranges are stored in the same hashes as the ranges of parked webhooks.
      ...(only === undefined || others.length > 0 ? [] : wanted.map((range) => parkingKey(only, range))),
    ];
    const [other, ...forgotten] = (await runScript(this.redis, create, keys, [
      replayKeyOf(''),
      id,
      webhookId,
      now,
      wanted.length > 0 ? REPLAY_KEPT_S : KEPT_EMPTY_S,
      KEPT_OF_WEBHOOK,
      rangeKeyPrefix(status),
      LISTED_OF_PARTNER,
      Object.keys(fields).length,
      ...Object.entries(fields).flat(),
      ...wanted.flatMap(({ topic, partition, ranges: parts }) => [
        `${topic}/${partition}`,
        rangesText(parts, { done: 0, failed: 0 }),
      ]),
    ])) as string[];
    await this.#parts?.forget(forgotten);
    return other === '' ? undefined : other;
  }

  /**
   * Returns the id of the running or paused replay of a webhook. The cost does not grow with the number of other replays.
   */
  async runningOf(webhookId: string): Promise<string | undefined> {
    const keys = [newestKeyOf(webhookId), REPLAYS, PAUSED];
    return ((await runScript(this.redis, running, keys, [replayKeyOf('')])) as string | null) ?? undefined;
  }

  /** Returns undefined if the replay is unknown or has expired. Rejects while a shard is unavailable. */
  find(id: string, now: number): Promise<ReplayStatus | undefined> {
    return this.#find(id, now, this.#parts);
  }

  /** Returns the status of a replay that was ordered just now, without asking the shards. */
  ordered(id: string, now: number): Promise<ReplayStatus | undefined> {
    return this.#find(id, now, undefined);
  }

  async #find(id: string, now: number, parts: ReplayParts | undefined): Promise<ReplayStatus | undefined> {
    const facts = await this.redis.hgetall(replayKeyOf(id));
    const { key } = facts;
    if (key === undefined) return undefined;
    const [{ endedAt, ...ordered }, isPaused, taken] = await Promise.all([
      this.redis.hgetall(orderKeyOf(key)),
      this.redis.sismember(PAUSED, key),
      parts?.of(key),
    ]);
    const found = (taken ?? [{}]).flatMap((each) => Object.values({ ...ordered, ...each }).map(readReplay));
    return replayStatus(facts, { parts: found, shards: taken?.length ?? 1, endedAt, isPaused: isPaused === 1 }, now);
  }

  idsUnderWay(): Promise<string[]> {
    return this.redis.hvals(REPLAYS);
  }

  /**
   * Returns the id of the replay to which a range key belongs; undefined if that replay is no longer in the list of the
   * webhook's newest replays.
   * @param name the range key without its prefix
   */
  async idOf(name: string): Promise<string | undefined> {
    const kept = await this.redis.lrange(newestKeyOf(readRangeKey(name).webhookId), 0, -1);
    return kept.find((entry) => entry.endsWith(` ${name}`) || entry.endsWith(`:${name}`))?.split(' ', 1)[0];
  }

  async underWay(now: number): Promise<ReplayStatus[]> {
    return this.#all(await this.idsUnderWay(), now);
  }

  /** Returns the replays that were ordered at `since` or later, newest first. @param since epoch milliseconds */
  async newest(since: number, limit: number, now: number): Promise<ReplayStatus[]> {
    return this.#all(await this.redis.zrevrangebyscore(ALL, '+inf', since, 'LIMIT', 0, limit), now);
  }

  ofAll(paging: ReplayPaging, now: number): Promise<ReplayPage> {
    return this.#page(ALL, paging, now);
  }

  /** Lists a partner's replays of the last 30 days. */
  ofPartner(partnerId: string, paging: ReplayPaging, now: number): Promise<ReplayPage> {
    return this.#page(partnerKeyOf(partnerId), paging, now);
  }

  /** Lists the replays of some webhooks of the last 30 days. */
  async ofWebhooks(webhookIds: readonly string[], paging: ReplayPaging, now: number): Promise<ReplayPage> {
    const lists = await Promise.all(webhookIds.map((id) => this.redis.lrange(newestKeyOf(id), 0, -1)));
    const ids = lists.flat().map((entry) => entry.split(' ', 1)[0] ?? '');
    const times = ids.length === 0 ? [] : await this.redis.zmscore(ALL, ...ids);
    const dated = ids
      .map((id, index): Dated => ({ id, at: Number(times[index] ?? 0) }))
      .toSorted((a, b) => b.at - a.at || (a.id < b.id ? 1 : -1));
    const { id, at } = readCursor(paging.cursor);
    const rank = dated.findIndex((each) => each.id === id);
    const from = rank === -1 ? dated.filter((each) => each.at > at).length : rank + 1;
    return this.#pageOf(dated.slice(from, from + paging.limit), paging.limit, now);
  }

  async #page(key: string, { limit, cursor }: ReplayPaging, now: number): Promise<ReplayPage> {
    const { id, at } = readCursor(cursor);
    const rank = id === '' ? -1 : await this.redis.zrevrank(key, id);
    const from = rank === null ? await this.redis.zcount(key, `(${at}`, '+inf') : rank + 1;
    const found = await this.redis.zrevrange(key, from, from + limit - 1, 'WITHSCORES');
    const dated = found.flatMap((each, index): Dated[] =>
      index % 2 === 0 ? [{ id: each, at: Number(found[index + 1]) }] : [],
    );
    return this.#pageOf(dated, limit, now);
  }

  async #pageOf(found: readonly Dated[], limit: number, now: number): Promise<ReplayPage> {
    const last = found.at(-1);
    const replays = await this.#all(
      found.map(({ id }) => id),
      now,
    );
    return { replays, ...(last === undefined || found.length < limit ? {} : { next: replayCursor(last.id, last.at) }) };
  }

  async #all(ids: readonly string[], now: number): Promise<ReplayStatus[]> {
    const found = await Promise.all(ids.map((id) => this.find(id, now)));
    return found.filter((status) => status !== undefined);
  }

  /** Returns false if the replay is neither running nor paused. */
  async cancel(id: string, now: number): Promise<boolean> {
    return (await runScript(this.redis, cancel, [replayKeyOf(id), REPLAYS, PAUSED], [now])) === 1;
  }

  /** Pauses or resumes a replay. Returns false if the replay has ended. */
  async pause(id: string, isPaused: boolean): Promise<boolean> {
    return (await runScript(this.redis, pause, [replayKeyOf(id), REPLAYS, PAUSED], [isPaused ? 1 : 0])) === 1;
  }

  /**
   * Returns the range keys of all running and paused replays in `keys`, and those of the paused replays also in `paused`.
   */
  async orders(): Promise<{ readonly keys: ReadonlySet<string>; readonly paused: ReadonlySet<string> }> {
    const [keys, paused] = await Promise.all([this.redis.hkeys(REPLAYS), this.redis.smembers(PAUSED)]);
    return { keys: new Set(keys), paused: new Set(paused) };
  }

  /**
   * Returns the ids of recently ended replays by range key. They are needed because a shard that loses its latest writes may
   * lose the end of a replay. With one shard the result is empty, because that shard loses the matching writes of the order
   * too.
   */
  async ended(): Promise<ReadonlyMap<string, string>> {
    return (await this.#parts?.ended()) ?? new Map();
  }

  /**
   * Ends the given replays that have no ranges left in any shard. With one shard this does nothing, because the worker ends
   * a replay when it stores its progress.
   */
  async endDone(keys: readonly string[]): Promise<void> {
    await this.#parts?.endDone(keys);
  }

  /**
   * Marks an ended replay as running again, because a shard still has ranges of it. Returns false if the order is no longer
   * stored.
   */
  async resumeEnded(key: string, id: string): Promise<boolean> {
    return (await this.#parts?.resumeEnded(key, id)) ?? false;
  }

  /**
   * Returns by range key the ranges of these replays that a partition still has to deliver. With several shards, ranges that
   * the owner of the partition has not copied yet are included. If a replay has ended in the partition, or has no records
   * there, it has no ranges.
   */
  async rangesOf(at: LogPartition, keys: readonly string[]): Promise<Map<string, ReplayPart>> {
    if (keys.length === 0) return new Map();
    const [only] = this.shards.all;
    if (this.#parts !== undefined || only === undefined) return (await this.#parts?.rangesOf(at, keys)) ?? new Map();
    const texts = await only.redis.hmget(parkingKey(only, at), ...keys);
    return new Map(
      keys.flatMap((key, index) => {
        const text = texts[index];
        return text == null ? [] : [[key, readReplay(text)]];
      }),
    );
  }
}
