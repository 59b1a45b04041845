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
 * The attempts and the waits of a delivery are counted in the data of the job. BullMQ's own count of attempts is used only
 * if the processor throws an unexpected error. The job must then be repeated and never fail, so BullMQ is given a very large
 * number.
 *
 * BullMQ ignores an add while it knows the id of the job. Ended jobs are therefore kept for as long as a worker may add the
 * same job again. A worker does so in two cases: it reads a record again whose job a killed worker had added since its last
 * flush, or it repeats its adds after Redis was unavailable. Both happen within seconds. `count` limits how many ended jobs
 * are kept after a burst.
 */
const JOB_OPTIONS = {
  attempts: 1_000_000,
  backoff: { type: 'fixed', delay: 5_000 },
  removeOnComplete: { age: 120, count: 2_000 },
  // While Redis is unavailable, a job may fail many times. Without this limit BullMQ would store every stack trace.
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
 * The retry queue in BullMQ, with its queues in each shard. Its connections are of the kind `queue`, on which commands wait
 * while Redis is unavailable. Jobs that are added while a bulk is being sent form the next bulk.
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
    // The timestamp is set explicitly, to the time from which the delay was computed. Otherwise BullMQ would read the clock
    // again when it sends the bulk, and the clock may have been adjusted meanwhile.
    const options = { ...JOB_OPTIONS, jobId: deliveryId(job), timestamp, delay };
    await this.#deliveries.of(job.envelopeId).add(job.eventType, job, options);
  }

  async addDeadLetter(letter: DeadLetter): Promise<void> {
    await this.#letters.add(letter);
    // A dead letter is kept for a time after its death, even if `relay recover` adds it again later.
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
    await Promise.resolve(); // lets all jobs that are added in this turn of the event loop join the first bulk
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
