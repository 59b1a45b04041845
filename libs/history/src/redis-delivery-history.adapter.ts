import type { PerShard, Shards } from '@relay/redis';
import { newestFirst, type HistoryLine, type HistoryPeriod } from './history-line.js';
import { merged, type SortedList } from './merged.js';
import { placesIn, type Places } from './places.js';
import { ShardHistory } from './shard-history.adapter.js';

/** What each shard is asked for at once, of its even share of a page: ids are spread by chance, and few shards have more. */
const OF_SHARE = 2;

/** The history in Redis, over all shards. It does not check whose webhook a caller names: callers must. */
export class RedisDeliveryHistory {
  readonly #parts: PerShard<PlacedHistory>;

  constructor(shards: Shards, windowMs: number) {
    this.#parts = shards.per((shard) => new PlacedHistory(new ShardHistory(shard, windowMs), placesIn(shards, shard)));
  }

  /** Newest first. */
  async ofWebhook(webhookId: string, period: HistoryPeriod, limit: number): Promise<HistoryLine[]> {
    const { all } = this.#parts;
    const lists = all.map(
      (part): SortedList<HistoryLine> =>
        (last, count) =>
          part.ofWebhook(webhookId, last === undefined ? period : { ...period, before: last }, count),
    );
    const lines: HistoryLine[] = [];
    const count = Math.min(limit, OF_SHARE * Math.ceil(limit / all.length));
    for await (const line of merged(lists, newestFirst, count)) if (lines.push(line) === limit) break;
    return lines;
  }

  /** The newest 1,000 deliveries of an envelope to these webhooks, newest first; each replay is a line of its own. */
  ofEnvelope(envelopeId: string, webhookIds: readonly string[]): Promise<HistoryLine[]> {
    return this.#parts.of(envelopeId).ofEnvelope(envelopeId, webhookIds);
  }
}

/** The history of one shard with places among all. */
class PlacedHistory {
  constructor(
    private readonly history: ShardHistory,
    private readonly places: Places,
  ) {}

  async ofWebhook(webhookId: string, { before, ...period }: HistoryPeriod, limit: number): Promise<HistoryLine[]> {
    const from = before && { endedAt: before.endedAt, place: this.places.inShard(before.place) };
    const lines = await this.history.ofWebhook(webhookId, { ...period, before: from }, limit);
    return lines.map((line) => this.places.amongAll(line));
  }

  async ofEnvelope(envelopeId: string, webhookIds: readonly string[]): Promise<HistoryLine[]> {
    const lines = await this.history.ofEnvelope(envelopeId, webhookIds);
    return lines.map((line) => this.places.amongAll(line));
  }
}
