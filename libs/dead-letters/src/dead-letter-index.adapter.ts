import { deliveryId, parseDeliveryId } from '@relay/delivery';
import { INDEXED_S, ofEnvelopeKey } from '@relay/jobs';
import type { Shard } from '@relay/redis';
import type { DeadLetter } from './dead-letter.js';

/** A page of dead letters: `since` inclusive, `until` exclusive, epoch milliseconds; `before` is the last one of the page before. */
export interface DeadLetterPeriod {
  readonly since?: number | undefined;
  readonly until?: number | undefined;
  readonly before?: { readonly at: number; readonly id: string } | undefined;
}

/** Dead letters of one webhook and millisecond that a page may have to skip at its begin. */
const TIES = 2_000;

/** Finds the dead letters of a webhook and of an envelope; the queue itself is in order of arrival, for all webhooks together. */
export class DeadLetterIndex {
  constructor(private readonly shard: Shard) {}

  /** Sorted set of the dead letters of a webhook, scored by `diedAt`. */
  #deadOf(webhookId: string): string {
    return this.shard.key('dead', webhookId);
  }

  /** To be called before the dead letter is stored. A repeated add leaves its time of death as it is, as the queue does. */
  async add(letter: DeadLetter): Promise<void> {
    const [id, dead, envelope] = [
      deliveryId(letter),
      this.#deadOf(letter.webhookId),
      ofEnvelopeKey(this.shard, letter.envelopeId),
    ];
    await this.shard.redis
      .multi()
      .zadd(dead, 'NX', letter.diedAt, id)
      .zremrangebyscore(dead, '-inf', Date.now() - INDEXED_S * 1_000)
      .expire(dead, INDEXED_S)
      .sadd(envelope, `d:${id}`)
      .expire(envelope, INDEXED_S)
      .exec();
  }

  /** To be called after the dead letters are removed. */
  async ended(ids: readonly string[]): Promise<void> {
    const pipeline = this.shard.redis.pipeline();
    for (const id of ids) {
      const delivery = parseDeliveryId(id);
      if (delivery === undefined) continue;
      pipeline.zrem(this.#deadOf(delivery.webhookId), id);
      pipeline.srem(ofEnvelopeKey(this.shard, delivery.envelopeId), `d:${id}`);
    }
    await pipeline.exec();
  }

  /** Newest first; within one millisecond by descending id. Some may have been removed. */
  async ofWebhook(
    webhookId: string,
    { since, until, before }: DeadLetterPeriod,
    limit: number,
  ): Promise<{ id: string; at: number }[]> {
    const end = before !== undefined && before.at < (until ?? Infinity) ? before.at : `(${until ?? Infinity}`;
    const [key, count] = [this.#deadOf(webhookId), before === undefined ? limit : limit + TIES];
    const found = await this.shard.redis.zrevrangebyscore(
      key,
      end === '(Infinity' ? '+inf' : end,
      since ?? '-inf',
      'WITHSCORES',
      'LIMIT',
      0,
      count,
    );
    const letters = Array.from({ length: found.length / 2 }, (_, index) => ({
      id: found[2 * index] ?? '',
      at: Number(found[2 * index + 1]),
    }));
    return letters
      .filter(({ id, at }) => before === undefined || at < before.at || (at === before.at && id < before.id))
      .slice(0, limit);
  }

  /** Dead letters of a webhook, some of which may have been removed. @param since epoch milliseconds */
  count(webhookId: string, since = 0): Promise<number> {
    return this.shard.redis.zcount(this.#deadOf(webhookId), since, '+inf');
  }

  /** Ids of the jobs and dead letters of an envelope, of every webhook; some may have been removed. */
  async ofEnvelope(envelopeId: string): Promise<{ waiting: string[]; dead: string[] }> {
    const members = await this.shard.redis.smembers(ofEnvelopeKey(this.shard, envelopeId));
    const of = (kind: string): string[] => members.filter((each) => each.startsWith(kind)).map((each) => each.slice(2));
    return { waiting: of('w:'), dead: of('d:') };
  }
}
