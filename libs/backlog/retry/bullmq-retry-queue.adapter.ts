import { type DeadLetter, DeadLetterIndex } from '@relay/dead-letters';
import { deliveryId } from '@relay/delivery';
import {
  DEAD_LETTERS_QUEUE,
  DELIVERIES_QUEUE,
  type DeliveryJob,
  envelopeIdOf,
  JobBodies,
  LazyQueue,
  type QueuedDelivery,
  repliesOf,
  WaitingJobs,
} from '@relay/jobs';
import type { PerShard, Shard, Shards } from '@relay/redis';
import type { BulkJobOptions } from 'bullmq';
import { RetryQueue } from './retry-queue.port.js';

/**
 * The job's data counts attempts and waits. BullMQ's own count applies only to a fault that escapes the processor: such a job
 * must be repeated, never fail.
 *
 * An ended job is kept for as long as it may be added once more, which changes nothing while BullMQ knows its id. A worker
 * does so when it reads a record again whose job a killed worker had added since its last flush, or when it repeats its adds
 * after Redis was away. Both happen within seconds; the count bounds how many a burst keeps.
 */
const JOB_OPTIONS = {
  attempts: 1_000_000,
  backoff: { type: 'fixed', delay: 5_000 },
  removeOnComplete: { age: 120, count: 2_000 },
  // A step fails again and again while Redis is away; without this limit BullMQ would keep every stack trace.
  stackTraceLimit: 1,
} as const;

interface Addition {
  name: string;
  data: DeliveryJob | DeadLetter;
  opts: BulkJobOptions;
  done: () => void;
  failed: (error: unknown) => void;
}

/**
 * BullMQ with its queues in each shard, on `queue` connections, which wait for Redis. Jobs that are added while a bulk is in
 * flight form the next bulk.
 */
export class BullmqRetryQueue extends RetryQueue {
  readonly #deliveries: PerShard<BulkQueue>;
  readonly #deadLetters: PerShard<BulkQueue>;
  readonly #letters: DeadLetterIndex;

  constructor(private readonly shards: Shards) {
    super();
    const [bodies, waiting] = [new JobBodies(shards), new WaitingJobs(shards)];
    this.#letters = new DeadLetterIndex(shards);
    this.#deliveries = shards.per((shard) => new BulkQueue(new LazyQueue(DELIVERIES_QUEUE, shard), bodies, waiting));
    this.#deadLetters = shards.per((shard) => new BulkQueue(new LazyQueue(DEAD_LETTERS_QUEUE, shard), bodies));
  }

  async add({ job, at }: QueuedDelivery): Promise<void> {
    const timestamp = Date.now();
    const delay = Math.max(0, at - timestamp);
    // The timestamp is set with the delay: BullMQ otherwise reads the clock again when it sends the bulk, and the clock may have
    // been set since.
    const options = { ...JOB_OPTIONS, jobId: deliveryId(job), timestamp, delay };
    await this.#deliveries.of(job.envelopeId).add(job.eventType, job, options);
  }

  async addDeadLetter(letter: DeadLetter): Promise<void> {
    await this.#letters.add(letter);
    // Retention counts from the death, not from a recovery by `relay recover`.
    const options = { jobId: deliveryId(letter), timestamp: letter.diedAt };
    await this.#deadLetters.of(letter.envelopeId).add(letter.reason, letter, options);
  }

  async existing(ids: readonly string[]): Promise<Set<string>> {
    const parts = this.shards.divide(ids, envelopeIdOf);
    return new Set((await Promise.all(parts.map((part) => existingIn(...part)))).flat());
  }

  async purge(olderThanMs: number): Promise<number> {
    const ids = (await Promise.all(this.#deadLetters.all.map((queue) => queue.clean(olderThanMs)))).flat();
    await this.#letters.ended(ids);
    return ids.length;
  }

  async close(): Promise<void> {
    const queues = [...this.#deliveries.all, ...this.#deadLetters.all];
    await Promise.all(queues.map((queue) => queue.close()));
  }
}

async function existingIn(shard: Shard, ids: readonly string[]): Promise<string[]> {
  const pipeline = shard.redis.pipeline();
  for (const id of ids) pipeline.exists(shard.key(DELIVERIES_QUEUE, id), shard.key(DEAD_LETTERS_QUEUE, id));
  const counts = await repliesOf(pipeline);
  return ids.filter((_, index) => Number(counts[index]) > 0);
}

class BulkQueue {
  #waiting: Addition[] = [];
  #sending = false;

  constructor(
    private readonly queue: LazyQueue,
    private readonly bodies: JobBodies,
    private readonly waiting?: WaitingJobs,
  ) {}

  add(name: string, data: DeliveryJob | DeadLetter, opts: BulkJobOptions): Promise<void> {
    return new Promise((done, failed) => {
      this.#waiting.push({ name, data, opts, done, failed });
      if (!this.#sending) void this.#send();
    });
  }

  async #send(): Promise<void> {
    this.#sending = true;
    await Promise.resolve(); // lets every job of this turn of the event loop join the first bulk
    while (this.#waiting.length > 0) {
      const bulk = this.#waiting.splice(0, 500);
      try {
        const all = bulk.map(({ data }) => data);
        const [stored] = await Promise.all([this.bodies.putAside(all), this.waiting?.add(all)]);
        const queue = await this.queue.open();
        await queue.addBulk(bulk.map(({ name, opts }, index) => ({ name, data: stored[index], opts })));
        await this.bodies.keep(all, stored, (job) => queue.toKey(deliveryId(job)));
        for (const job of bulk) job.done();
      } catch (error) {
        for (const job of bulk) job.failed(error);
      }
    }
    this.#sending = false;
  }

  async clean(olderThanMs: number): Promise<string[]> {
    return (await this.queue.open()).clean(olderThanMs, 10_000, 'wait');
  }

  close(): Promise<void> {
    return this.queue.close();
  }
}
