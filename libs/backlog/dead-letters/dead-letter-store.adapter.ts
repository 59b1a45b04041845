import { Inject, Injectable } from '@nestjs/common';
import { deliveryId, parseDeliveryId } from '@relay/delivery';
import {
  DEAD_LETTERS_QUEUE,
  envelopeIdOf,
  INDEXED_S,
  JobBodies,
  ofEnvelopeKey,
  QUEUE_SHARDS,
  ShardQueues,
} from '@relay/jobs';
import { type Shard, Shards } from '@relay/redis';
import { type DeadLetter, type FoundDeadLetter, StoredDeadLetter } from './dead-letter.js';

/**
 * A page of dead letters: `since` inclusive, `until` exclusive, epoch milliseconds; `before` is the last one of the previous
 * page.
 */
export interface DeadLetterPeriod {
  readonly since?: number | undefined;
  readonly until?: number | undefined;
  readonly before?: { readonly at: number; readonly id: string } | undefined;
}

/** Dead letters of one webhook and millisecond that a page may have to skip at its begin. */
const TIES = 2_000;

/** Finds the dead letters of a webhook and of an envelope; the queue itself is in order of arrival, for all webhooks together. */
@Injectable()
export class DeadLetterIndex {
  constructor(private readonly shards: Shards) {}

  /**
   * Adds a dead letter to the index; to be called before it is stored. A repeated add keeps its time of death, as the queue
   * does.
   */
  async add(letter: DeadLetter): Promise<void> {
    const shard = this.shards.of(letter.envelopeId);
    const [id, dead, envelope] = [
      deliveryId(letter),
      deadKey(shard, letter.webhookId),
      ofEnvelopeKey(shard, letter.envelopeId),
    ];
    await shard.redis
      .multi()
      .zadd(dead, 'NX', letter.diedAt, id)
      .zremrangebyscore(dead, '-inf', Date.now() - INDEXED_S * 1_000)
      .expire(dead, INDEXED_S)
      .sadd(envelope, `d:${id}`)
      .expire(envelope, INDEXED_S)
      .exec();
  }

  /** Drops dead letters from the index; to be called after they are removed. */
  async ended(ids: readonly string[]): Promise<void> {
    const parts = this.shards.divide(ids, envelopeIdOf);
    await Promise.all(parts.map((part) => endedIn(...part)));
  }

  /** Returns dead letters newest first; within one millisecond by descending id. Some may have been removed. */
  async ofWebhook(
    webhookId: string,
    { since, until, before }: DeadLetterPeriod,
    limit: number,
  ): Promise<IndexedLetter[]> {
    const end = before !== undefined && before.at < (until ?? Infinity) ? before.at : `(${until ?? Infinity}`;
    const count = before === undefined ? limit : limit + TIES;
    const range = ['WITHSCORES', 'LIMIT', 0, count] as const;
    const found = await Promise.all(
      this.shards.all.map((shard) => {
        const key = deadKey(shard, webhookId);
        return shard.redis.zrevrangebyscore(key, end === '(Infinity' ? '+inf' : end, since ?? '-inf', ...range);
      }),
    );
    return inOrder(found.map(lettersOf))
      .filter(({ id, at }) => before === undefined || at < before.at || (at === before.at && id < before.id))
      .slice(0, limit);
  }

  /**
   * Counts the dead letters of a webhook, some of which may have been removed.
   * @param since epoch milliseconds
   */
  async count(webhookId: string, since = 0): Promise<number> {
    const counts = await Promise.all(
      this.shards.all.map((shard) => shard.redis.zcount(deadKey(shard, webhookId), since, '+inf')),
    );
    return counts.reduce((sum, each) => sum + each, 0);
  }

  /** Returns the ids of the jobs and dead letters of an envelope, of every webhook; some may have been removed. */
  async ofEnvelope(envelopeId: string): Promise<{ waiting: string[]; dead: string[] }> {
    const shard = this.shards.of(envelopeId);
    const members = await shard.redis.smembers(ofEnvelopeKey(shard, envelopeId));
    const of = (kind: string): string[] => members.filter((each) => each.startsWith(kind)).map((each) => each.slice(2));
    return { waiting: of('w:'), dead: of('d:') };
  }
}

/** Key of the sorted set of the dead letters of a webhook, scored by `diedAt`. */
const deadKey = (shard: Shard, webhookId: string): string => shard.key('dead', webhookId);

async function endedIn(shard: Shard, ids: readonly string[]): Promise<void> {
  const pipeline = shard.redis.pipeline();
  for (const id of ids) {
    const delivery = parseDeliveryId(id);
    if (delivery === undefined) continue;
    pipeline.zrem(deadKey(shard, delivery.webhookId), id);
    pipeline.srem(ofEnvelopeKey(shard, delivery.envelopeId), `d:${id}`);
  }
  await pipeline.exec();
}

interface IndexedLetter {
  id: string;
  at: number;
}

const lettersOf = (found: readonly string[]): IndexedLetter[] =>
  Array.from({ length: found.length / 2 }, (_, index) => ({
    id: found[2 * index] ?? '',
    at: Number(found[2 * index + 1]),
  }));

/** Merges the lists of several shards, each of which Redis returns in this order. */
function inOrder([only = [], ...others]: readonly IndexedLetter[][]): IndexedLetter[] {
  if (others.length === 0) return only;
  return [...only, ...others.flat()].toSorted((one, other) => other.at - one.at || (one.id < other.id ? 1 : -1));
}

/** Number of dead letters that are read at once. A dead letter with its body has up to 900 KiB. */
const SLICE = 50;

/** No worker takes jobs from this queue, but Bull Board lets an operator move them between states. */
const STATES = ['waiting', 'prioritized', 'delayed', 'failed'] as const;

@Injectable()
export class DeadLetterReader {
  readonly #queues: ShardQueues;
  readonly #bodies: JobBodies;
  readonly #index: DeadLetterIndex;

  constructor(@Inject(QUEUE_SHARDS) shards: Shards) {
    this.#bodies = new JobBodies(shards);
    this.#index = new DeadLetterIndex(shards);
    this.#queues = new ShardQueues(DEAD_LETTERS_QUEUE, shards);
  }

  /**
   * Returns the ids at this moment, oldest first within a shard; later changes of the queue do not affect a walk through them.
   */
  async ids(): Promise<string[]> {
    const found = await this.#queues.each(async (queue) => (await queue.open()).getRanges([...STATES], 0, -1, true));
    return found.flat();
  }

  /** Returns the ids of a webhook, oldest first; some may have been removed. */
  async idsOf(webhookId: string): Promise<string[]> {
    const found = await this.#index.ofWebhook(webhookId, {}, Number.MAX_SAFE_INTEGER);
    return found.map(({ id }) => id).toReversed();
  }

  async count(): Promise<number> {
    const counts = await this.#queues.each(async (queue) => (await queue.open()).getJobCountByTypes(...STATES));
    return counts.reduce((sum, each) => sum + each, 0);
  }

  /** Yields the dead letters of these ids in slices, without removed ones. Rejects on a record of a newer relay. */
  async *read(ids: readonly string[]): AsyncGenerator<FoundDeadLetter[]> {
    for (let at = 0; at < ids.length; at += SLICE) {
      const slice = await Promise.all(ids.slice(at, at + SLICE).map((id) => this.#find(id)));
      yield slice.filter((letter) => letter !== undefined);
    }
  }

  async #find(id: string): Promise<FoundDeadLetter | undefined> {
    const job = await (await this.#queues.of(id).open()).getJob(id);
    if (job === undefined) return undefined;
    const read = StoredDeadLetter.safeParse(job.data);
    if (!read.success) throw new Error(`The dead letter ${id} is of a format that this relay does not know: update it`);
    return { id, stored: read.data };
  }

  /** Adds the body, which is empty if Redis has lost it. */
  async withBody({ stored }: FoundDeadLetter): Promise<DeadLetter> {
    return { ...stored, v: 1, body: (await this.#bodies.of(stored)) ?? '' };
  }

  /** @returns how many of them were in the queue */
  async remove(letters: readonly FoundDeadLetter[]): Promise<number> {
    const removed = await Promise.all(letters.map(async ({ id }) => (await this.#queues.of(id).open()).remove(id)));
    await Promise.all(letters.map(({ stored }) => this.#bodies.release(stored)));
    await this.#index.ended(letters.map(({ id }) => id));
    return removed.filter((count) => count > 0).length;
  }

  close(): Promise<void> {
    return this.#queues.close();
  }
}
