import {
  type LogPartition,
  parkedKey,
  parkingKey,
  rangeKeyPrefix,
  rangesText,
  readRangeKey,
  readReplay,
  replaysKey,
} from '@relay/progress';
import { defineScript, globalKey, runScript, onlyShard, type Shard } from '@relay/redis';
import type { Redis } from 'ioredis';
import { replayStatus, type ReplayStatus } from './replay-status.js';
import { cancelReplayLua, createReplayLua, pauseReplayLua, runningReplayLua } from './replays.script.js';

const running = defineScript('replay-running', runningReplayLua);
const create = defineScript('replay-create', createReplayLua);
const cancel = defineScript('replay-cancel', cancelReplayLua);
const pause = defineScript('replay-pause', pauseReplayLua);

/** Retention of a replay. The log itself is kept for 7 days. */
export const KEPT_S = 30 * 86_400;
/** Retention of a replay without records, of which a partner may order any number. */
const KEPT_EMPTY_S = 600;
/** Replays kept for one webhook: without a bound, repeated orders would fill Redis. */
const KEPT_OF_WEBHOOK = 20;
/** The replays that a partner is shown. */
const LISTED_OF_PARTNER = 100;
const PAUSED = globalKey('replays', 'paused');
const SERIES = globalKey('replays', 'series');
/** Sorted set of ids by creation time. */
const ALL = globalKey('replays', 'all');
/** Sorted set of a partner's newest replays, ids by creation time. Some of them may have expired. */
const partnerKeyOf = (partnerId: string): string => globalKey('replays', 'by', partnerId);
/** List of the newest replays of a webhook, newest first, each `<id> <range key>`. */
const newestKeyOf = (webhookId: string): string => globalKey('replays', 'of', webhookId);
const replayKeyOf = (id: string): string => globalKey('replay', id);

/** Offsets `[from, end)` of a partition to be delivered again. */
export interface ReplayRange extends LogPartition {
  readonly from: number;
  readonly end: number;
}

/** The members of a replay that its order sets. */
export type NewReplay = Pick<
  ReplayStatus,
  'id' | 'webhookId' | 'partnerId' | 'eventType' | 'status' | 'since' | 'until' | 'orderedBy' | 'groupId'
>;

/**
 * Replays in Redis. The owner of each partition delivers their ranges again to one webhook, by catch-up. The ranges are stored
 * with those of parked webhooks, so they move with the partitions and continue from their cursor after a crash.
 */
export class Replays {
  /** Where the ranges of their partitions are. */
  readonly #shard: Shard;

  constructor(private readonly redis: Redis) {
    this.#shard = onlyShard(redis);
  }

  /** @returns the id of a running or paused replay of this webhook, without storing the new one; undefined once it is stored */
  async create(replay: NewReplay, ranges: readonly ReplayRange[], now: number): Promise<string | undefined> {
    const { id, webhookId, partnerId, eventType, status, since = '', until = '', orderedBy, groupId } = replay;
    const wanted = ranges.filter(({ from, end }) => from < end);
    const matched = wanted.reduce((sum, { from, end }) => sum + end - from, 0);
    const group = groupId === undefined ? {} : { groupId };
    const fields = { id, webhookId, partnerId, eventType, status, since, until, orderedBy, matched, ...group };
    const keys = [
      newestKeyOf(webhookId),
      replaysKey(this.#shard),
      PAUSED,
      replayKeyOf(id),
      SERIES,
      parkedKey(this.#shard),
      ALL,
      partnerKeyOf(partnerId),
    ];
    const other = (await runScript(
      this.redis,
      create,
      [...keys, ...wanted.map((range) => parkingKey(this.#shard, range))],
      [
        replayKeyOf(''),
        id,
        webhookId,
        now,
        wanted.length > 0 ? KEPT_S : KEPT_EMPTY_S,
        KEPT_OF_WEBHOOK,
        rangeKeyPrefix(status),
        LISTED_OF_PARTNER,
        Object.keys(fields).length,
        ...Object.entries(fields).flat(),
        ...wanted.flatMap(({ topic, partition, from, end }) => [
          `${topic}/${partition}`,
          rangesText([{ from, to: end }], { done: 0, failed: 0 }),
        ]),
      ],
    )) as string | null;
    return other ?? undefined;
  }

  /** The id of the running or paused replay of a webhook; one read, however many other replays there are. */
  async runningOf(webhookId: string): Promise<string | undefined> {
    const keys = [newestKeyOf(webhookId), replaysKey(this.#shard), PAUSED];
    return ((await runScript(this.redis, running, keys, [replayKeyOf('')])) as string | null) ?? undefined;
  }

  /** Undefined for an unknown or expired replay. */
  async find(id: string, now: number): Promise<ReplayStatus | undefined> {
    const facts = await this.redis.hgetall(replayKeyOf(id));
    const { key } = facts;
    if (key === undefined) return undefined;
    const [{ endedAt, ...partitions }, isPaused] = await Promise.all([
      this.redis.hgetall(parkedKey(this.#shard, key)),
      this.redis.sismember(PAUSED, key),
    ]);
    return replayStatus(facts, Object.values(partitions).map(readReplay), endedAt, isPaused === 1, now);
  }

  /** The ids of the running and paused replays. */
  idsUnderWay(): Promise<string[]> {
    return this.redis.hvals(replaysKey(this.#shard));
  }

  /** The id of the replay of a range key without its mark, `<webhook id>/<series>`; undefined for an old one. */
  async idOf(name: string): Promise<string | undefined> {
    const kept = await this.redis.lrange(newestKeyOf(readRangeKey(name).webhookId), 0, -1);
    return kept.find((entry) => entry.endsWith(` ${name}`) || entry.endsWith(`:${name}`))?.split(' ', 1)[0];
  }

  /** The running and paused replays. */
  async underWay(now: number): Promise<ReplayStatus[]> {
    return this.#all(await this.idsUnderWay(), now);
  }

  /** The replays ordered since then, newest first. @param since epoch milliseconds */
  async newest(since: number, limit: number, now: number): Promise<ReplayStatus[]> {
    return this.#all(await this.redis.zrevrangebyscore(ALL, '+inf', since, 'LIMIT', 0, limit), now);
  }

  /** A partner's replays of the last 30 days, newest first; no more than 100 of them are listed. */
  async ofPartner(partnerId: string, limit: number, now: number): Promise<ReplayStatus[]> {
    return this.#all(await this.redis.zrevrange(partnerKeyOf(partnerId), 0, limit - 1), now);
  }

  async #all(ids: readonly string[], now: number): Promise<ReplayStatus[]> {
    const found = await Promise.all(ids.map((id) => this.find(id, now)));
    return found.filter((status) => status !== undefined);
  }

  /** False when it is neither running nor paused. */
  async cancel(id: string, now: number): Promise<boolean> {
    return (await runScript(this.redis, cancel, [replayKeyOf(id), replaysKey(this.#shard), PAUSED], [now])) === 1;
  }

  /** Pauses or resumes a replay; false when it has ended. */
  async pause(id: string, isPaused: boolean): Promise<boolean> {
    return (
      (await runScript(this.redis, pause, [replayKeyOf(id), replaysKey(this.#shard), PAUSED], [isPaused ? 1 : 0])) === 1
    );
  }

  /** The range keys of the running and paused replays, and those of the paused ones. */
  async orders(): Promise<{ readonly keys: ReadonlySet<string>; readonly paused: ReadonlySet<string> }> {
    const [keys, paused] = await Promise.all([this.redis.hkeys(replaysKey(this.#shard)), this.redis.smembers(PAUSED)]);
    return { keys: new Set(keys), paused: new Set(paused) };
  }

  /** The ranges of these replays in a partition, by range key. */
  async rangesOf(at: LogPartition, keys: readonly string[]): Promise<Map<string, ReturnType<typeof readReplay>>> {
    if (keys.length === 0) return new Map();
    const texts = await this.redis.hmget(parkingKey(this.#shard, at), ...keys);
    return new Map(
      keys.flatMap((key, index) => {
        const text = texts[index];
        return text == null ? [] : [[key, readReplay(text)]];
      }),
    );
  }
}
