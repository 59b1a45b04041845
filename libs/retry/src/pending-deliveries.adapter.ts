import { type DeadLetterPeriod, DeadLetterIndex, StoredDeadLetter } from '@relay/dead-letters';
import { parseDeliveryId } from '@relay/delivery';
import { bullOptions, DEAD_LETTERS_QUEUE, DELIVERIES_QUEUE, dueTimeOf, StoredJob, WaitingJobs } from '@relay/jobs';
import { redisKey } from '@relay/redis';
import { Job, Queue } from 'bullmq';
import type { Redis } from 'ioredis';

/** A delivery that has not reached its endpoint. */
export interface PendingDelivery {
  readonly id: string;
  readonly job: StoredJob;
  /** Set of a dead letter, and when it died: epoch milliseconds. */
  readonly letter?: StoredDeadLetter;
  readonly diedAt?: number;
  /** Epoch milliseconds of its next attempt; undefined of one that runs, is due now, or is dead. */
  readonly dueAt?: number;
}

/** Waiting jobs of a webhook that are read at most; where the operator lets more wait the rest is not told. */
const MOST_WAITING = 5_000;
/** A letter is in the index before it is in its queue; what is not there after so long does not come. */
const STORED_WITHIN_MS = 600_000;
/** Jobs read at once: most have a body of up to 4 KiB. */
const SLICE = 200;

/** A job as it stands in Redis. */
interface Read {
  readonly id: string;
  readonly data: unknown;
  readonly dueAt?: number;
}

/** What is in the queues for a webhook or of an envelope, as it stands at this moment. */
export class PendingDeliveries {
  readonly #waiting: WaitingJobs;
  readonly #letters: DeadLetterIndex;
  readonly #queue: Queue;

  /** @param queueRedis waits for Redis, as BullMQ wants it; all else is asked on `redis` */
  constructor(
    private readonly redis: Redis,
    queueRedis: Redis,
  ) {
    this.#waiting = new WaitingJobs(redis);
    this.#letters = new DeadLetterIndex(redis);
    this.#queue = new Queue(DELIVERIES_QUEUE, bullOptions(queueRedis));
    // Connection faults are told by the connection itself, once.
    this.#queue.on('error', () => undefined);
  }

  /** All that waits for a webhook: not many more than its limit, what comes on top is parked. */
  async waiting(webhookId: string): Promise<PendingDelivery[]> {
    return this.#jobs((await this.#waiting.ids(webhookId)).slice(0, MOST_WAITING));
  }

  /** The newest dead letters of a webhook; forgets those that a crash or an older version left in the index. */
  async dead(webhookId: string, died: DeadLetterPeriod, limit: number): Promise<PendingDelivery[]> {
    const found: PendingDelivery[] = [];
    for (let before = died.before; ;) {
      // More than are wanted, so that many that are gone cost few steps.
      const page = await this.#letters.ofWebhook(webhookId, { ...died, before }, Math.max(limit, SLICE));
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
      await this.#letters.ended(left.map(({ id }) => id));
      if (page.length < Math.max(limit, SLICE) || found.length >= limit) return found;
      before = page.at(-1);
    }
  }

  /** What waits and what is dead of an envelope for these webhooks. */
  async ofEnvelope(envelopeId: string, webhookIds: ReadonlySet<string>): Promise<PendingDelivery[]> {
    const { waiting, dead } = await this.#letters.ofEnvelope(envelopeId);
    const isMeant = (id: string): boolean => webhookIds.has(parseDeliveryId(id)?.webhookId ?? '');
    // A letter is stored before its job goes, so where both are found the letter speaks.
    const letters = await this.#deadOf(dead.filter(isMeant));
    const jobs = await this.#jobs(waiting.filter((id) => isMeant(id) && !letters.some((letter) => letter.id === id)));
    return [...jobs, ...letters];
  }

  /** Makes one that waits due now; false where it runs, has ended or is due already. */
  async hasten(id: string): Promise<boolean> {
    const job = await Job.fromId(this.#queue, id);
    if (job === undefined || !(await job.isDelayed())) return false;
    try {
      await job.changeDelay(0);
      return true;
    } catch (error) {
      // It may have begun since; BullMQ refuses then.
      if (await job.isDelayed()) throw error;
      return false;
    }
  }

  async #jobs(ids: readonly string[]): Promise<PendingDelivery[]> {
    const found = await this.#read(DELIVERIES_QUEUE, ids);
    return found.flatMap(({ id, data, dueAt }) => {
      const job = StoredJob.safeParse(data).data;
      return job === undefined ? [] : [{ id, job, ...(dueAt === undefined ? {} : { dueAt }) }];
    });
  }

  async #deadOf(ids: readonly string[]): Promise<PendingDelivery[]> {
    return lettersIn(await this.#read(DEAD_LETTERS_QUEUE, ids));
  }

  /** Those that are there; an ended job is kept for a while without being one. */
  async #read(queue: string, ids: readonly string[]): Promise<Read[]> {
    const found: Read[] = [];
    for (let at = 0; at < ids.length; at += SLICE)
      found.push(...(await this.#readSlice(queue, ids.slice(at, at + SLICE))));
    return found;
  }

  async #readSlice(queue: string, ids: readonly string[]): Promise<Read[]> {
    const pipeline = this.redis.pipeline();
    for (const id of ids) {
      pipeline.hmget(`${redisKey(queue)}:${id}`, 'data', 'finishedOn');
      pipeline.zscore(redisKey(queue, 'delayed'), id);
    }
    const replies = ((await pipeline.exec()) ?? []).map(([error, reply]) => {
      if (error !== null) throw error;
      return reply;
    });
    return ids.flatMap((id, index) => {
      const [data, finishedOn] = replies[2 * index] as (string | null)[];
      const score = replies[2 * index + 1] as string | null;
      if (typeof data !== 'string' || typeof finishedOn === 'string') return [];
      const dueAt = score === null ? undefined : dueTimeOf(score);
      return [{ id, data: JSON.parse(data) as unknown, ...(dueAt === undefined ? {} : { dueAt }) }];
    });
  }

  close(): Promise<void> {
    return this.#queue.close();
  }
}

/** Those of a format that is known. */
const lettersIn = (stored: readonly Read[]): PendingDelivery[] =>
  stored.flatMap(({ id, data }) => {
    const letter = StoredDeadLetter.safeParse(data).data;
    return letter === undefined ? [] : [{ id, job: letter, letter, diedAt: letter.diedAt }];
  });
