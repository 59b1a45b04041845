import { RedisBreakerStore } from '@relay/breaker';
import { RedisRepeatCounts, RedisSeenStore, type RepeatCount, type SeenMark } from '@relay/dedupe';
import type { HistoryLine, RedisDeliveryHistory } from '@relay/history';
import { parkingKey, readRangeKey, readRanges, type LogPartition } from '@relay/progress';
import type { Shards } from '@relay/redis';
import { Replays } from '@relay/replays';
import type { PendingDeliveries, PendingDelivery } from '@relay/retry';
import type { Redis } from 'ioredis';
import type { Bar, RangeFacts } from './story-of.js';

/** The window of the marks counts where they are written. */
const NOTHING_WRITTEN = 0;

/** Reads the state of one envelope from Redis by a few commands, whose cost does not grow with other envelopes. */
export class StoryState {
  readonly #marks: RedisSeenStore;
  readonly #repeats: RedisRepeatCounts;
  readonly #replays: Replays;
  readonly #breakers: RedisBreakerStore;

  /** @param redis with what is global */
  constructor(
    redis: Redis,
    private readonly shards: Shards,
    private readonly jobs: Pick<PendingDeliveries, 'ofEnvelope'>,
    private readonly history?: Pick<RedisDeliveryHistory, 'ofEnvelope'>,
  ) {
    this.#marks = new RedisSeenStore(shards, NOTHING_WRITTEN);
    this.#repeats = new RedisRepeatCounts(shards, NOTHING_WRITTEN);
    this.#replays = new Replays(redis, shards);
    this.#breakers = new RedisBreakerStore(redis);
  }

  async mark(envelopeId: string): Promise<SeenMark | undefined> {
    return (await this.#marks.find([envelopeId]))[0];
  }

  repeats(envelopeId: string): Promise<RepeatCount> {
    return this.#repeats.of(envelopeId);
  }

  /** Returns the deliveries to the given webhooks that the history has. */
  async delivered(envelopeId: string, webhookIds: ReadonlySet<string> | undefined): Promise<readonly HistoryLine[]> {
    return webhookIds === undefined ? [] : ((await this.history?.ofEnvelope(envelopeId, [...webhookIds])) ?? []);
  }

  /** @param webhookIds the only ones; by default all, and dead letters of the envelope as a whole */
  pending(envelopeId: string, webhookIds?: ReadonlySet<string>): Promise<PendingDelivery[]> {
    return this.jobs.ofEnvelope(envelopeId, webhookIds);
  }

  /** The ranges of these webhooks, and of the replays under way to them, in which an envelope waits that is at this offset. */
  async rangesAt(
    at: LogPartition,
    { offset, envelopeId }: { readonly offset: number; readonly envelopeId: string },
    webhookIds: ReadonlySet<string>,
  ): Promise<RangeFacts[]> {
    if (webhookIds.size === 0) return [];
    const { keys } = await this.#replays.orders();
    const replays = [...keys].filter((key) => webhookIds.has(readRangeKey(key).webhookId));
    const shard = this.shards.of(envelopeId);
    const [texts, parts] = await Promise.all([
      shard.redis.hmget(parkingKey(shard, at), ...webhookIds),
      this.#replays.rangesOf({ ...at, shard: this.shards.all.indexOf(shard) }, replays),
    ]);
    const parked = [...webhookIds].map((key, index) => [key, readRanges(texts[index] ?? '')] as const);
    const ordered = [...parts].map(([key, { ranges }]) => [key, ranges] as const);
    return [...parked, ...ordered].flatMap(([key, ranges]) => {
      const { webhookId, series, isOfFailed } = readRangeKey(key);
      // A replay of dead letters comes to dead letters only.
      const isThere = !isOfFailed && ranges.some(({ from, to = Infinity }) => from <= offset && offset < to);
      return isThere ? [{ webhookId, series }] : [];
    });
  }

  /** Ids of the replays by time that these series belong to, by `replayName`. */
  async replayIds(names: readonly string[]): Promise<Map<string, string>> {
    const found = await Promise.all(names.map((name) => this.#replays.idOf(name)));
    return new Map(names.flatMap((name, index) => (found[index] === undefined ? [] : [[name, found[index]]])));
  }

  /** Returns the bars to attempts now, by the given keys of webhooks and endpoints. */
  async barsOf(keys: ReadonlySet<string>, now: number): Promise<Map<string, Bar>> {
    if (keys.size === 0) return new Map();
    const all = await this.#breakers.all();
    return new Map(
      [...keys].flatMap((key): [string, Bar][] => {
        const { openUntil = 0, heldUntil = 0 } = all.get(key) ?? {};
        if (Math.max(openUntil, heldUntil) <= now) return [];
        return [[key, heldUntil > openUntil ? 'retry-after' : 'breaker']];
      }),
    );
  }
}
