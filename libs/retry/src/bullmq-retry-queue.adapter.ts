import { type DeadLetter, DeadLetterIndex } from '@relay/dead-letters';
import { deliveryId } from '@relay/delivery';
import {
  bullOptions,
  DEAD_LETTERS_QUEUE,
  DELIVERIES_QUEUE,
  type DeliveryJob,
  JobBodies,
  type QueuedDelivery,
  WaitingJobs,
} from '@relay/jobs';
import { shardPrefix } from '@relay/redis';
import { Queue, type BulkJobOptions } from 'bullmq';
import type { Redis } from 'ioredis';
import { RetryQueue } from './retry-queue.port.js';

/**
 * Attempts and waits are counted by us in the job's data. BullMQ's own count only catches a fault of ours that escapes
 * the processor: such a job must come again, never fail.
 *
 * An ended job is kept for as long as it may be added once more, which changes nothing while it is there: by a worker
 * that reads a record again whose job a killed one had added within its last flush, or that repeats its adds after Redis
 * was away. Both happen within seconds; the count bounds what a burst keeps.
 */
const JOB_OPTIONS = {
  attempts: 1_000_000,
  backoff: { type: 'fixed', delay: 5_000 },
  removeOnComplete: { age: 120, count: 2_000 },
  // Of a step that fails again and again, such as while Redis is away; BullMQ would keep every one of them.
  stackTraceLimit: 1,
} as const;

interface Waiting {
  name: string;
  data: DeliveryJob | DeadLetter;
  opts: BulkJobOptions;
  done: () => void;
  failed: (error: unknown) => void;
}

/** BullMQ on a `queue` connection, which waits for Redis; what is added while a bulk is on its way forms the next one. */
export class BullmqRetryQueue extends RetryQueue {
  readonly #deliveries: BulkQueue;
  readonly #deadLetters: BulkQueue;
  readonly #letters: DeadLetterIndex;

  constructor(private readonly redis: Redis) {
    super();
    const bodies = new JobBodies(redis);
    this.#deliveries = new BulkQueue(new Queue(DELIVERIES_QUEUE, bullOptions(redis)), bodies, new WaitingJobs(redis));
    this.#letters = new DeadLetterIndex(redis);
    this.#deadLetters = new BulkQueue(new Queue(DEAD_LETTERS_QUEUE, bullOptions(redis)), bodies);
  }

  add({ job, at }: QueuedDelivery): Promise<void> {
    const timestamp = Date.now();
    const delay = Math.max(0, at - timestamp);
    // Given with the delay: BullMQ would look at the clock again when the bulk is sent, and the host's may have been set since.
    return this.#deliveries.add(job.eventType, job, { ...JOB_OPTIONS, jobId: deliveryId(job), timestamp, delay });
  }

  async addDeadLetter(letter: DeadLetter): Promise<void> {
    await this.#letters.add(letter);
    // Kept for so long after its death, not after it was brought back by `relay recover`.
    await this.#deadLetters.add(letter.reason, letter, { jobId: deliveryId(letter), timestamp: letter.diedAt });
  }

  async existing(ids: readonly string[]): Promise<Set<string>> {
    const pipeline = this.redis.pipeline();
    for (const id of ids) {
      pipeline.exists(`${shardPrefix}:${DELIVERIES_QUEUE}:${id}`, `${shardPrefix}:${DEAD_LETTERS_QUEUE}:${id}`);
    }
    const replies = (await pipeline.exec()) ?? [];
    return new Set(
      ids.filter((_, index) => {
        const [error, count] = replies[index] ?? [new Error('no reply')];
        if (error) throw error;
        return Number(count) > 0;
      }),
    );
  }

  async purge(olderThanMs: number): Promise<number> {
    const ids = await this.#deadLetters.clean(olderThanMs);
    await this.#letters.ended(ids);
    return ids.length;
  }

  async close(): Promise<void> {
    await Promise.all([this.#deliveries.close(), this.#deadLetters.close()]);
  }
}

class BulkQueue {
  #waiting: Waiting[] = [];
  #sending = false;

  constructor(
    private readonly queue: Queue,
    private readonly bodies: JobBodies,
    private readonly waiting?: WaitingJobs,
  ) {
    // Connection faults are told by the connection itself, once.
    queue.on('error', () => undefined);
  }

  add(name: string, data: DeliveryJob | DeadLetter, opts: BulkJobOptions): Promise<void> {
    return new Promise((done, failed) => {
      this.#waiting.push({ name, data, opts, done, failed });
      if (!this.#sending) void this.#send();
    });
  }

  async #send(): Promise<void> {
    this.#sending = true;
    await Promise.resolve(); // lets everything of this turn join the first bulk
    while (this.#waiting.length > 0) {
      const bulk = this.#waiting.splice(0, 500);
      try {
        const all = bulk.map(({ data }) => data);
        const [stored] = await Promise.all([this.bodies.putAside(all), this.waiting?.add(all)]);
        await this.queue.addBulk(bulk.map(({ name, opts }, index) => ({ name, data: stored[index], opts })));
        await this.bodies.keep(all, stored, (job) => this.queue.toKey(deliveryId(job)));
        for (const job of bulk) job.done();
      } catch (error) {
        for (const job of bulk) job.failed(error);
      }
    }
    this.#sending = false;
  }

  clean(olderThanMs: number): Promise<string[]> {
    return this.queue.clean(olderThanMs, 10_000, 'wait');
  }

  close(): Promise<void> {
    return this.queue.close();
  }
}
