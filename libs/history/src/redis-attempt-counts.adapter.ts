import type { Shards } from '@relay/redis';
import { countsOver, totalsOver, type AttemptCounts, type AttemptTotals } from './attempt-counts.js';
import { placesIn, type Places } from './places.js';
import { ShardAttemptCounts } from './shard-attempt-counts.adapter.js';

/** How often the attempts of webhooks succeeded and failed, over all shards. */
export class RedisAttemptCounts {
  readonly #parts: readonly { readonly counts: ShardAttemptCounts; readonly places: Places }[];

  constructor(shards: Shards, windowMs: number) {
    this.#parts = shards.all.map((shard) => ({
      counts: new ShardAttemptCounts(shard, windowMs),
      places: placesIn(shards, shard),
    }));
  }

  /**
   * The totals alone, in the order of the ids, for long lists: 10,000 webhooks are 100 scripts of each shard one after another, each of
   * which lets other commands of Redis wait for a millisecond or two.
   */
  async totalsOf(webhookIds: readonly string[]): Promise<AttemptTotals[]> {
    const all = await Promise.all(this.#parts.map(({ counts }) => counts.totalsOf(webhookIds)));
    return webhookIds.map((_, index) => totalsOver(all.flatMap((totals) => totals[index] ?? [])));
  }

  /** In the order of the ids. It does not check whose webhooks a caller names: callers must. */
  async of(webhookIds: readonly string[]): Promise<AttemptCounts[]> {
    const all = await Promise.all(
      this.#parts.map(async ({ counts, places }) => (await counts.of(webhookIds)).map((each) => placed(each, places))),
    );
    return webhookIds.map((_, index) => countsOver(all.flatMap((counts) => counts[index] ?? [])));
  }
}

const placed = ({ lastDelivered, ...counts }: AttemptCounts, places: Places): AttemptCounts =>
  lastDelivered === undefined ? counts : { ...counts, lastDelivered: places.amongAll(lastDelivered) };
