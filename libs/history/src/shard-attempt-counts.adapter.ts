import type { AttemptFacts } from '@relay/events';
import { runScript, type Shard } from '@relay/redis';
import type { AttemptCounts, AttemptTotals, Failures } from './attempt-counts.js';
import { readTotals } from './attempt-totals.script.js';
import { addFailures } from './failures.script.js';
import { lineOf, type StreamEntry } from './history-entry.js';

const HOUR_MS = 3_600_000;
/** Webhooks looked at in one pipeline, which bounds the wait of other commands. */
const SLICE = 100;

/** The attempts at envelopes of one shard: the successful ones are known from its history, the failed ones counted here. */
export class ShardAttemptCounts {
  constructor(
    private readonly shard: Shard,
    private readonly windowMs: number,
  ) {}

  async add(failures: readonly Failures[]): Promise<void> {
    if (failures.length === 0) return;
    const args = failures.flatMap(({ webhookId, count, last, good }) => [webhookId, count, textOf(last), textOf(good)]);
    await runScript(this.shard.redis, addFailures, [this.shard.key('failed')], [this.windowMs, ...args]);
  }

  /**
   * The totals alone, in the order of the ids, for long lists: 10,000 webhooks are 100 scripts one after another, each of which lets other
   * commands of Redis wait for a millisecond or two.
   */
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

  /** In the order of the ids. It does not check whose webhooks a caller names: callers must. */
  async of(webhookIds: readonly string[]): Promise<AttemptCounts[]> {
    const [seconds, micros] = await this.shard.redis.time();
    const oldest = Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000) - this.windowMs;
    const counts: AttemptCounts[] = [];
    for (let from = 0; from < webhookIds.length; from += SLICE) {
      const slice = webhookIds.slice(from, from + SLICE);
      const pipeline = this.shard.redis.pipeline();
      for (const id of slice) {
        // The writers drop whole nodes, and none while there is nothing to write.
        pipeline.xtrim(this.shard.key('history', id), 'MINID', oldest);
        pipeline.xlen(this.shard.key('history', id));
        pipeline.xrevrange(this.shard.key('history', id), '+', '-', 'COUNT', 1);
        pipeline.hgetall(this.shard.key('failed', id));
      }
      const replies = ((await pipeline.exec()) ?? []).map(([error, reply]) => {
        if (error !== null) throw error;
        return reply;
      });
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
    ...(entry === undefined ? {} : { lastDelivered: lineOf(webhookId, entry) }),
    ...(facts === undefined || facts.at < oldest ? {} : { lastFailure: facts }),
    ...(good === undefined ? {} : { lastGood: JSON.parse(good) as AttemptFacts }),
  };
}
