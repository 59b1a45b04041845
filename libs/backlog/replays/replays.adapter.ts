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

/** Retention of a replay without records, of which a partner may order any number. */
const KEPT_EMPTY_S = 600;
/** Replays kept for one webhook: without a bound, repeated orders would fill Redis. */
const KEPT_OF_WEBHOOK = 20;
/** Maximum of replays that a partner sees: those kept of 1,000 webhooks. */
const LISTED_OF_PARTNER = 1_000 * KEPT_OF_WEBHOOK;
const SERIES = globalKey('replays', 'series');
/** Sorted set of ids by creation time. */
const ALL = globalKey('replays', 'all');
/** Sorted set of a partner's newest replays, ids by creation time. Some of them may have expired. */
const partnerKeyOf = (partnerId: string): string => globalKey('replays', 'by', partnerId);
/** List of the newest replays of a webhook, newest first, each `<id> <range key>`. */
const newestKeyOf = (webhookId: string): string => globalKey('replays', 'of', webhookId);

/** Offsets `[from, end)` of a partition to be delivered again. */
export interface ReplayRange extends LogPartition {
  readonly from: number;
  readonly end: number;
}

export interface ReplayPaging {
  readonly limit: number;
  /** `next` of the page before. */
  readonly cursor?: string | undefined;
}

/** Newest first. `next` is there when more may follow. */
export interface ReplayPage {
  readonly replays: readonly ReplayStatus[];
  readonly next?: string;
}

/** The members of a replay that its order sets. */
export type NewReplay = Pick<
  ReplayStatus,
  'id' | 'webhookId' | 'partnerId' | 'eventType' | 'status' | 'since' | 'until' | 'orderedBy'
>;

interface Dated {
  readonly id: string;
  readonly at: number;
}

/** Returns the cursor after a page: its last replay, and the time of its order in case the replay is no longer kept. */
export const replayCursor = (id: string, createdAt: number): string => `${createdAt}.${id}`;

function readCursor(cursor = ''): Dated {
  const [at = '', id = ''] = cursor.split('.');
  return { id, at: at === '' ? Infinity : Number(at) };
}

/**
 * Replays in Redis. The owner of each partition delivers their ranges again to one webhook, by catch-up. With one shard an order
 * stores the ranges where those of parked webhooks are, so they move with the partitions and continue from their cursor after a
 * crash. With several, an order is in the global slot, and each owner takes its part up from there (`ReplayParts`).
 */
export class Replays {
  /** Undefined with one shard. */
  readonly #parts: ReplayParts | undefined;

  /** @param redis of the global slot */
  constructor(
    private readonly redis: Redis,
    private readonly shards: Shards,
  ) {
    this.#parts = shards.all.length === 1 ? undefined : new ReplayParts(redis, shards);
  }

  /** The ranges without what waits in the log for the webhook. */
  unwaited(target: Pick<NewReplay, 'webhookId' | 'status'>, ranges: readonly ReplayRange[]) {
    return unwaitedRanges(this.shards, target, ranges);
  }

  /** @returns the id of a running or paused replay of this webhook, without storing the new one; undefined once it is stored */
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
      // One shard has the ranges of partitions where those of parked webhooks are.
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

  /** The id of the running or paused replay of a webhook; one read, however many other replays there are. */
  async runningOf(webhookId: string): Promise<string | undefined> {
    const keys = [newestKeyOf(webhookId), REPLAYS, PAUSED];
    return ((await runScript(this.redis, running, keys, [replayKeyOf('')])) as string | null) ?? undefined;
  }

  /** Undefined for an unknown or expired replay. Rejects while a shard is away. */
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

  /** The id of the replay of a range key without its mark, `<webhook id>/<series>`; undefined for an old one. */
  async idOf(name: string): Promise<string | undefined> {
    const kept = await this.redis.lrange(newestKeyOf(readRangeKey(name).webhookId), 0, -1);
    return kept.find((entry) => entry.endsWith(` ${name}`) || entry.endsWith(`:${name}`))?.split(' ', 1)[0];
  }

  async underWay(now: number): Promise<ReplayStatus[]> {
    return this.#all(await this.idsUnderWay(), now);
  }

  /** The replays ordered since then, newest first. @param since epoch milliseconds */
  async newest(since: number, limit: number, now: number): Promise<ReplayStatus[]> {
    return this.#all(await this.redis.zrevrangebyscore(ALL, '+inf', since, 'LIMIT', 0, limit), now);
  }

  ofAll(paging: ReplayPaging, now: number): Promise<ReplayPage> {
    return this.#page(ALL, paging, now);
  }

  /** A partner's replays of the last 30 days. */
  ofPartner(partnerId: string, paging: ReplayPaging, now: number): Promise<ReplayPage> {
    return this.#page(partnerKeyOf(partnerId), paging, now);
  }

  /** The replays of some webhooks of the last 30 days. */
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

  /** False when it is neither running nor paused. */
  async cancel(id: string, now: number): Promise<boolean> {
    return (await runScript(this.redis, cancel, [replayKeyOf(id), REPLAYS, PAUSED], [now])) === 1;
  }

  /** Pauses or resumes a replay; false when it has ended. */
  async pause(id: string, isPaused: boolean): Promise<boolean> {
    return (await runScript(this.redis, pause, [replayKeyOf(id), REPLAYS, PAUSED], [isPaused ? 1 : 0])) === 1;
  }

  /** The range keys of the running and paused replays, and those of the paused ones. */
  async orders(): Promise<{ readonly keys: ReadonlySet<string>; readonly paused: ReadonlySet<string> }> {
    const [keys, paused] = await Promise.all([this.redis.hkeys(REPLAYS), this.redis.smembers(PAUSED)]);
    return { keys: new Set(keys), paused: new Set(paused) };
  }

  /**
   * Returns the ids of the replays that ended lately, by range key: a shard may go back behind their end. With one shard it
   * returns none, because the orders then go back too.
   */
  async ended(): Promise<ReadonlyMap<string, string>> {
    return (await this.#parts?.ended()) ?? new Map();
  }

  /** Ends those of the running replays of which no shard has a range left. With one shard its flushes do so. */
  async endDone(keys: readonly string[]): Promise<void> {
    await this.#parts?.endDone(keys);
  }

  /** Lets an ended replay run again, because a shard has ranges of it; false when its order is gone. */
  async resumeEnded(key: string, id: string): Promise<boolean> {
    return (await this.#parts?.resumeEnded(key, id)) ?? false;
  }

  /**
   * Returns the ranges that a partition has to deliver of these replays, by range key. With several shards it includes ranges
   * that the partition has not taken up yet. A replay that has ended there, or has no records of it, has no ranges.
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
