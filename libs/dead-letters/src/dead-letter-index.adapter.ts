import { INDEXED_S, OF_ENVELOPE } from '@relay/jobs';
import { deliveryId, parseDeliveryId } from '@relay/delivery';
import { redisKey } from '@relay/redis';
import type { Redis } from 'ioredis';
import type { DeadLetter } from './dead-letter.js';

/** With `:<webhook>` its dead letters, scored by when they died. */
const DEAD = redisKey('dead');
/** `since` inclusive, `until` exclusive, epoch milliseconds; `before` is the last one that was shown. */
export interface Died {
  readonly since?: number | undefined;
  readonly until?: number | undefined;
  readonly before?: { readonly at: number; readonly id: string } | undefined;
}

/** So many letters of a webhook may have died in the same millisecond for a page to begin among them. */
const TIES = 2_000;

/** Which dead letters a webhook and an envelope have: the queue itself is in the order in which they came, of everybody. */
export class LetterIndex {
  constructor(private readonly redis: Redis) {}

  /** To be called before the letter is added. */
  async add(letter: DeadLetter): Promise<void> {
    const [id, dead, envelope] = [
      deliveryId(letter),
      `${DEAD}:${letter.webhookId}`,
      `${OF_ENVELOPE}:${letter.envelopeId}`,
    ];
    await this.redis
      .multi()
      .zadd(dead, letter.diedAt, id)
      .zremrangebyscore(dead, '-inf', Date.now() - INDEXED_S * 1_000)
      .expire(dead, INDEXED_S)
      .sadd(envelope, `d:${id}`)
      .expire(envelope, INDEXED_S)
      .exec();
  }

  /** To be called after the letters are gone. */
  async ended(ids: readonly string[]): Promise<void> {
    const pipeline = this.redis.pipeline();
    for (const id of ids) {
      const delivery = parseDeliveryId(id);
      if (delivery === undefined) continue;
      pipeline.zrem(`${DEAD}:${delivery.webhookId}`, id);
      pipeline.srem(`${OF_ENVELOPE}:${delivery.envelopeId}`, `d:${id}`);
    }
    await pipeline.exec();
  }

  /** Newest first, those of one millisecond by their ids, the last one first. */
  async ofWebhook(
    webhookId: string,
    { since, until, before }: Died,
    limit: number,
  ): Promise<{ id: string; at: number }[]> {
    const end = before !== undefined && before.at < (until ?? Infinity) ? before.at : `(${until ?? Infinity}`;
    const [key, count] = [`${DEAD}:${webhookId}`, before === undefined ? limit : limit + TIES];
    const found = await this.redis.zrevrangebyscore(
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

  /** How many of a webhook died then or later; some may be gone. @param since epoch milliseconds */
  count(webhookId: string, since = 0): Promise<number> {
    return this.redis.zcount(`${DEAD}:${webhookId}`, since, '+inf');
  }

  /** Ids of an envelope's jobs and dead letters, whosever they are; some may be gone. */
  async ofEnvelope(envelopeId: string): Promise<{ waiting: string[]; dead: string[] }> {
    const members = await this.redis.smembers(`${OF_ENVELOPE}:${envelopeId}`);
    const of = (mark: string): string[] => members.filter((each) => each.startsWith(mark)).map((each) => each.slice(2));
    return { waiting: of('w:'), dead: of('d:') };
  }
}
