import type { AttemptFacts } from '@relay/events';
import { runScript, type Shard, type Shards } from '@relay/redis';
import { addAttempts, readHours, readTotals } from './history.script.js';
import { placesIn, repliesOf, type Places } from './delivery-history.adapter.js';
import { hoursOf, type HourCount, type HourPeriod } from './hour-counts.js';
import { HOUR_MS, lineOf, newestFirst, type HistoryLine, type StreamEntry } from './history-line.js';

/**
 * The attempts of a webhook that are not counted in Redis yet.
 * @property failed number of failed attempts
 * @property delivered number of successful attempts
 * @property last the last failed attempt
 * @property good the last successful attempt that was kept with its answer
 */
export interface NewAttempts {
  readonly webhookId: string;
  readonly failed: number;
  readonly delivered: number;
  readonly last?: AttemptFacts | undefined;
  readonly good?: AttemptFacts | undefined;
}

/** Number of a webhook's attempts within the window of the history. */
export interface AttemptTotals {
  readonly delivered: number;
  /** Number of failed attempts, counted by whole hours. */
  readonly failed: number;
}

/** Share of failed attempts, from 0 to 1; `null` if there were no attempts. */
export const failureRateOf = ({ delivered, failed }: AttemptTotals): number | null =>
  delivered + failed === 0 ? null : failed / (delivered + failed);

/** The attempts of a webhook within the window of the history. */
export interface AttemptCounts extends AttemptTotals {
  readonly lastDelivered?: HistoryLine | undefined;
  readonly lastFailure?: AttemptFacts | undefined;
  /** A successful attempt with its answer. Only one in ten minutes is kept, and it may be older than the window. */
  readonly lastGood?: AttemptFacts | undefined;
}

/** Number of webhooks that are read in one pipeline. Other commands wait for the pipeline, so it is kept short. */
const SLICE = 100;

/**
 * Counts the attempts of one shard's envelopes. Totals of successful attempts come from the history, which scarce memory can
 * leave incomplete; counts by the hour do not.
 */
export class ShardAttemptCounts {
  constructor(
    private readonly shard: Shard,
    private readonly windowMs: number,
  ) {}

  async add(attempts: readonly NewAttempts[]): Promise<void> {
    if (attempts.length === 0) return;
    const args = attempts.flatMap(({ webhookId, failed, delivered, last, good }) => [
      webhookId,
      failed,
      delivered,
      textOf(last),
      textOf(good),
    ]);
    await runScript(this.shard.redis, addAttempts, [this.shard.key('failed')], [this.windowMs, ...args]);
  }

  /** Returns sums over the webhooks for each hour from `first` to `last`: failed attempts, then successful ones. */
  async hours(webhookIds: readonly string[], first: number, last: number): Promise<number[]> {
    const sums = Array.from({ length: 2 * (last - first + 1) }, () => 0);
    for (let from = 0; from < webhookIds.length; from += SLICE) {
      const args = [first, last, ...webhookIds.slice(from, from + SLICE)];
      const counts = (await runScript(this.shard.redis, readHours, [this.shard.key('failed')], args)) as number[];
      for (const [n, count] of counts.entries()) sums[n] = (sums[n] ?? 0) + count;
    }
    return sums;
  }

  /** Returns the totals of this shard, in the order of the ids. */
  async totalsOf(webhookIds: readonly string[]): Promise<AttemptTotals[]> {
    const totals: AttemptTotals[] = [];
    for (let from = 0; from < webhookIds.length; from += SLICE) {
      const slice = webhookIds.slice(from, from + SLICE);
      const numbers = (await runScript(
        this.shard.redis,
        readTotals,
        [this.shard.key('history'), this.shard.key('failed')],
        [this.windowMs, ...slice],
      )) as number[];
      totals.push(...slice.map((_, n) => ({ delivered: numbers[2 * n] ?? 0, failed: numbers[2 * n + 1] ?? 0 })));
    }
    return totals;
  }

  async of(webhookIds: readonly string[]): Promise<AttemptCounts[]> {
    const [seconds, micros] = await this.shard.redis.time();
    const oldest = Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000) - this.windowMs;
    const counts: AttemptCounts[] = [];
    for (let from = 0; from < webhookIds.length; from += SLICE) {
      const slice = webhookIds.slice(from, from + SLICE);
      const pipeline = this.shard.redis.pipeline();
      for (const id of slice) {
        // Writers trim only approximately (whole nodes), and only when they write. This trim is exact.
        pipeline.xtrim(this.shard.key('history', id), 'MINID', oldest);
        pipeline.xlen(this.shard.key('history', id));
        pipeline.xrevrange(this.shard.key('history', id), '+', '-', 'COUNT', 1);
        pipeline.hgetall(this.shard.key('failed', id));
      }
      const replies = await repliesOf(pipeline);
      counts.push(...slice.map((id, n) => countsOf(id, replies.slice(4 * n + 1, 4 * n + 4), oldest)));
    }
    return counts;
  }
}

const textOf = (facts: AttemptFacts | undefined): string => (facts === undefined ? '' : JSON.stringify(facts));

function countsOf(webhookId: string, [length, newest, failed]: readonly unknown[], oldest: number): AttemptCounts {
  const [entry] = newest as StreamEntry[];
  const { last, good, ...hours } = failed as Record<string, string>;
  const facts = last === undefined ? undefined : (JSON.parse(last) as AttemptFacts);
  const counted = Object.entries(hours).filter(([hour]) => Number(hour) >= Math.floor(oldest / HOUR_MS));
  return {
    delivered: Number(length),
    failed: counted.reduce((sum, [, count]) => sum + Number(count), 0),
    lastDelivered: entry && lineOf(webhookId, entry),
    lastFailure: facts === undefined || facts.at < oldest ? undefined : facts,
    lastGood: good === undefined ? undefined : (JSON.parse(good) as AttemptFacts),
  };
}

/** Counts of successful and failed attempts of webhooks over all shards. */
export class RedisAttemptCounts {
  readonly #parts: readonly { readonly counts: ShardAttemptCounts; readonly places: Places }[];

  constructor(
    shards: Shards,
    private readonly windowMs: number,
  ) {
    this.#parts = shards.all.map((shard) => ({
      counts: new ShardAttemptCounts(shard, windowMs),
      places: placesIn(shards, shard),
    }));
  }

  /**
   * Returns only the totals, in the order of the ids. It is made for long lists: for 10,000 webhooks, each shard runs 100
   * scripts one after another. Each script blocks Redis for one or two milliseconds.
   */
  async totalsOf(webhookIds: readonly string[]): Promise<AttemptTotals[]> {
    const all = await Promise.all(this.#parts.map(({ counts }) => counts.totalsOf(webhookIds)));
    return webhookIds.map((_, index) => totalsOver(all.flatMap((totals) => totals[index] ?? [])));
  }

  /**
   * Returns the sums over the webhooks for each hour of a period, oldest first. Earlier versions counted only failed
   * attempts. The caller must check that it may read these webhooks.
   */
  async hours(webhookIds: readonly string[], period: HourPeriod): Promise<HourCount[]> {
    const hours = hoursOf(period, Date.now(), this.windowMs);
    const [first, last] = [hours[0], hours.at(-1)];
    if (first === undefined || last === undefined) return [];
    const parts = await Promise.all(this.#parts.map(({ counts }) => counts.hours(webhookIds, first, last)));
    const sum = (n: number): number => parts.reduce((total, part) => total + (part[n] ?? 0), 0);
    return hours.map((hour, n) => ({
      at: new Date(hour * HOUR_MS).toISOString(),
      delivered: sum(2 * n + 1),
      failedAttempts: sum(2 * n),
    }));
  }

  /** Returns the counts in the order of the ids. The caller must check that it may read these webhooks. */
  async of(webhookIds: readonly string[]): Promise<AttemptCounts[]> {
    const all = await Promise.all(
      this.#parts.map(async ({ counts, places }) => (await counts.of(webhookIds)).map((each) => placed(each, places))),
    );
    return webhookIds.map((_, index) => countsOver(all.flatMap((counts) => counts[index] ?? [])));
  }
}

const placed = ({ lastDelivered, ...counts }: AttemptCounts, places: Places): AttemptCounts => ({
  ...counts,
  lastDelivered: lastDelivered && places.amongAll(lastDelivered),
});

/** Combines the counts of one webhook from several shards: the sums, and the latest attempt of each kind. */
function countsOver(parts: readonly AttemptCounts[]): AttemptCounts {
  const [lastDelivered] = parts.flatMap((each) => each.lastDelivered ?? []).toSorted(newestFirst);
  const [lastFailure] = parts.flatMap((each) => each.lastFailure ?? []).toSorted(lastFirst);
  const [lastGood] = parts.flatMap((each) => each.lastGood ?? []).toSorted(lastFirst);
  return { ...totalsOver(parts), lastDelivered, lastFailure, lastGood };
}

const totalsOver = (parts: readonly AttemptTotals[]): AttemptTotals => ({
  delivered: parts.reduce((sum, each) => sum + each.delivered, 0),
  failed: parts.reduce((sum, each) => sum + each.failed, 0),
});

const lastFirst = (a: AttemptFacts, b: AttemptFacts): number => b.at - a.at;
