import { type DeadLetterPeriod, DeadLetterIndex, StoredDeadLetter } from '@relay/dead-letters';
import { parseDeliveryId } from '@relay/delivery';
import {
  DEAD_LETTERS_QUEUE,
  DELIVERIES_QUEUE,
  dueTimeOf,
  envelopeIdOf,
  repliesOf,
  ShardQueues,
  StoredJob,
  WaitingJobs,
} from '@relay/jobs';
import type { Shard, Shards } from '@relay/redis';

/** A delivery that has not reached its endpoint: a queued delivery or a dead letter. */
export interface PendingDelivery {
  readonly id: string;
  readonly job: StoredJob;
  /** The dead letter and its time of death in epoch milliseconds; both are undefined for a queued delivery. */
  readonly letter?: StoredDeadLetter;
  readonly diedAt?: number;
  /**
   * Epoch milliseconds of the next attempt. Undefined if an attempt is running or already due, or if the delivery is a dead
   * letter.
   */
  readonly dueAt?: number;
}

/**
 * Maximum of queued deliveries that are read for a webhook. An operator may set a higher limit; then the rest is left out.
 */
const MOST_WAITING = 5_000;
/**
 * A dead letter is added to the index before it is stored in its queue. If an index entry is older than this and has no dead
 * letter, the entry was left behind by a crash.
 */
const STORED_WITHIN_MS = 600_000;
/** Number of jobs that are read at once. Most jobs include a body of up to 4 KiB. */
const SLICE = 200;
/**
 * Number of dead letters that are read beyond the limit. The spare ones replace dead letters that were removed, which saves
 * further reads.
 */
const SPARE = 20;

/** A job as Redis holds it. */
interface FoundJob {
  readonly id: string;
  readonly data: unknown;
  readonly dueAt?: number;
}

/** Finds the pending deliveries of a webhook or an envelope in both queues. */
export class PendingDeliveries {
  readonly #waiting: WaitingJobs;
  readonly #letters: DeadLetterIndex;
  readonly #queues: ShardQueues;

  /**
   * @param queueShards the same shards with connections for BullMQ, on which commands wait while Redis is unavailable; all
   *   other commands use `shards`
   */
  constructor(
    private readonly shards: Shards,
    queueShards: Shards,
  ) {
    this.#waiting = new WaitingJobs(shards);
    this.#letters = new DeadLetterIndex(shards);
    this.#queues = new ShardQueues(DELIVERIES_QUEUE, queueShards);
  }

  /**
   * Returns the queued deliveries of a webhook. There are not many more than its limit, because a webhook is parked at its
   * limit.
   */
  async waiting(webhookId: string): Promise<PendingDelivery[]> {
    return this.#jobs((await this.#waiting.ids(webhookId)).slice(0, MOST_WAITING));
  }

  /** Returns the newest dead letters of a webhook. Removes index entries that a crash left behind. */
  async dead(webhookId: string, died: DeadLetterPeriod, limit: number): Promise<PendingDelivery[]> {
    const found: PendingDelivery[] = [];
    for (let before = died.before; ;) {
      const page = await this.#letters.ofWebhook(webhookId, { ...died, before }, limit + SPARE);
      const stored = await this.#read(
        DEAD_LETTERS_QUEUE,
        page.map(({ id }) => id),
      );
      const letters = new Map(lettersIn(stored).map((letter) => [letter.id, letter]));
      const there = new Set(stored.map(({ id }) => id));
      for (const { id, at } of page) {
        const letter = letters.get(id);
        if (letter !== undefined && found.length < limit) found.push({ ...letter, diedAt: at });
      }
      const left = page.filter(({ id, at }) => !there.has(id) && at < Date.now() - STORED_WITHIN_MS);
      if (left.length > 0) await this.#letters.ended(left.map(({ id }) => id));
      if (page.length < limit + SPARE || found.length >= limit) return found;
      before = page.at(-1);
    }
  }

  /**
   * Returns the pending deliveries of an envelope to these webhooks. By default, returns the deliveries to all webhooks and
   * the dead letter of the whole envelope, if there is one.
   */
  async ofEnvelope(envelopeId: string, webhookIds?: ReadonlySet<string>): Promise<PendingDelivery[]> {
    const { waiting, dead } = await this.#letters.ofEnvelope(envelopeId);
    const isSelected = (id: string): boolean =>
      webhookIds === undefined || webhookIds.has(parseDeliveryId(id)?.webhookId ?? '');
    // A dead letter is stored before its job is removed. If both exist, only the dead letter is returned.
    const letters = lettersIn(await this.#read(DEAD_LETTERS_QUEUE, dead.filter(isSelected)));
    const jobs = await this.#jobs(
      waiting.filter((id) => isSelected(id) && !letters.some((letter) => letter.id === id)),
    );
    return [...jobs, ...letters];
  }

  /** Makes a delayed job due now. Returns false if the job is running, has ended or is already due. */
  hasten(id: string): Promise<boolean> {
    return this.#queues.of(id).hasten(id, 0);
  }

  async #jobs(ids: readonly string[]): Promise<PendingDelivery[]> {
    const found = await this.#read(DELIVERIES_QUEUE, ids);
    return found.flatMap(({ id, data, dueAt }) => {
      const job = StoredJob.safeParse(data).data;
      return job === undefined ? [] : [{ id, job, ...(dueAt === undefined ? {} : { dueAt }) }];
    });
  }

  /**
   * Returns the stored jobs with these ids. Ended jobs, which BullMQ keeps for a while, are left out. With several shards
   * the result is not in the order of the ids, because each slice is read shard by shard.
   */
  async #read(queue: string, ids: readonly string[]): Promise<FoundJob[]> {
    const found: FoundJob[] = [];
    for (let at = 0; at < ids.length; at += SLICE) {
      const parts = this.shards.divide(ids.slice(at, at + SLICE), envelopeIdOf);
      found.push(...(await Promise.all(parts.map(([shard, part]) => readIn(shard, queue, part)))).flat());
    }
    return found;
  }

  close(): Promise<void> {
    return this.#queues.close();
  }
}

async function readIn(shard: Shard, queue: string, ids: readonly string[]): Promise<FoundJob[]> {
  const pipeline = shard.redis.pipeline();
  for (const id of ids) {
    pipeline.hmget(shard.key(queue, id), 'data', 'finishedOn');
    pipeline.zscore(shard.key(queue, 'delayed'), id);
  }
  const replies = await repliesOf(pipeline);
  return ids.flatMap((id, index) => {
    const [data, finishedOn] = replies[2 * index] as (string | null)[];
    const score = replies[2 * index + 1] as string | null;
    if (typeof data !== 'string' || typeof finishedOn === 'string') return [];
    const dueAt = score === null ? undefined : dueTimeOf(score);
    return [{ id, data: JSON.parse(data) as unknown, ...(dueAt === undefined ? {} : { dueAt }) }];
  });
}

/** Returns the dead letters whose format is known. */
const lettersIn = (stored: readonly FoundJob[]): PendingDelivery[] =>
  stored.flatMap(({ id, data }) => {
    const letter = StoredDeadLetter.safeParse(data).data;
    return letter === undefined ? [] : [{ id, job: letter, letter, diedAt: letter.diedAt }];
  });
