import { setTimeout as delay } from 'node:timers/promises';
import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { bullOptions, DELIVERIES_QUEUE, StoredJob } from '@relay/jobs';
import type { Shard, Shards } from '@relay/redis';
import { reasonOf, ThrottledLog } from '@relay/telemetry';
import { DelayedError, type Job, Worker } from 'bullmq';
import { AttemptLog, logFieldsOf } from '../delivery/attempt-reports.js';
import { AttemptProcessor, putBack } from './attempt.processor.js';
import { QueuedJobs } from './queued-jobs.js';

/** Time in ms for which a job is locked for this worker. BullMQ renews the lock while the job runs. */
const LOCK_MS = 20_000;
/** Interval in ms at which BullMQ looks for jobs of workers that have died. */
const STALLED_EVERY_MS = 5_000;
/**
 * Maximum number of jobs that one BullMQ worker runs at once. A BullMQ worker fetches this many jobs, with one round trip
 * for each, before it starts the first of them, and renews no lock in that time. 512 jobs at 50 ms each (Redis is slow, or
 * the process gets too little CPU) take longer than `LOCK_MS`, so another worker takes the same jobs again. 64 jobs at 150
 * ms each take less. A lower maximum requires more BullMQ workers, and each of them looks for a delayed job when the job is
 * due (docs/adr/0009).
 */
const JOBS_EACH = 64;

export const MAKE_QUEUE_WORKERS = Symbol('makes the queue workers');

export type Process = (job: Job<unknown>, token: string, signal: AbortSignal | undefined) => Promise<void>;

/**
 * The BullMQ workers of this process, spread about equally over the shards. Each worker runs few jobs at once, so that a job
 * starts before its lock expires. If a job has waited for long, it starts only if this process still has its lock.
 */
export class QueueWorkers {
  readonly #workers: Worker<unknown>[];

  constructor(
    shards: Shards,
    /** Maximum number of jobs that run at once in all shards together. Each shard gets at least one. */
    concurrency: number,
    process: Process,
    /** Called with the data of a job that has ended. */
    completed: (data: unknown) => void,
    private readonly log: ThrottledLog,
  ) {
    const options = {
      autorun: false,
      lockDuration: LOCK_MS,
      stalledInterval: STALLED_EVERY_MS,
      // With the default of 1, BullMQ fails a job when a second worker dies while it runs the job.
      maxStalledCount: 1_000_000,
      // Each job sets for how long it is kept when it has completed. This setting is for ids that have no job.
      removeOnComplete: { count: 0 },
    };
    this.#workers = dealt(shards.all, concurrency).map(({ shard, jobs }) => {
      const worker = new Worker<unknown>(DELIVERIES_QUEUE, (job, token, signal) => begin(process, job, token, signal), {
        ...bullOptions(shard),
        ...options,
        concurrency: jobs,
      });
      this.#watch(worker);
      worker.on('completed', ({ data }) => completed(data));
      return worker;
    });
  }

  start(): void {
    for (const worker of this.#workers) void worker.run();
  }

  /** Takes no more jobs. Jobs that run already continue. */
  async pause(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.pause(true)));
  }

  async resume(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.resume()));
  }

  /** Takes no more jobs and waits until the running jobs have ended. */
  async close(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.close()));
  }

  #watch(worker: Worker<unknown>): void {
    worker.on('error', (error) =>
      this.log.warn('queue.fault', 'The queue reports a fault; queued attempts continue when the fault has passed', {
        reason: reasonOf(error),
      }),
    );
    worker.on('failed', (job, error) => {
      const stored = StoredJob.safeParse(job?.data).data;
      this.log.warn('queue.step_failed', 'A step of a queued attempt failed; the job runs again in 5 s', {
        ...(stored === undefined ? { jobId: job?.id } : logFieldsOf(stored, stored.attempts + 1)),
        reason: reasonOf(error),
      });
    });
    // BullMQ reports a lost lock but lets the job continue. Another worker may have taken the job, so it is cancelled here.
    worker.on('lockRenewalFailed', (ids) => {
      for (const id of ids) worker.cancelJob(id, 'its lock was lost');
    });
  }
}

/** Returns one entry for each BullMQ worker to create: its shard, and the number of jobs that it runs at once. */
export function dealt(
  shards: readonly Shard[],
  concurrency: number,
): { readonly shard: Shard; readonly jobs: number }[] {
  return shards.flatMap((shard, number) => {
    const share = Math.max(1, Math.floor(concurrency / shards.length) + (number < concurrency % shards.length ? 1 : 0));
    return Array.from({ length: Math.ceil(share / JOBS_EACH) }, (_, index) => ({
      shard,
      jobs: Math.min(JOBS_EACH, share - index * JOBS_EACH),
    }));
  });
}

/** Starts a job that was fetched with this token. If the lock may have expired, first checks that it is still held. */
export async function begin(process: Process, job: Job<unknown>, token = '', signal?: AbortSignal): Promise<void> {
  const fetchedAt = job.processedOn ?? 0;
  const mayBeLost = Math.abs(Date.now() - fetchedAt) > LOCK_MS / 2;
  // Another worker has taken the job and decides what becomes of it.
  if (mayBeLost && (await job.extendLock(token, LOCK_MS)) !== 1) throw new DelayedError();
  return process(job, token, signal);
}

/** Runs jobs that are due. Pauses while Kafka is unreachable, because the worker then cannot report attempts. */
@Injectable()
export class QueueConsumer implements OnApplicationBootstrap {
  readonly #workers: QueueWorkers;
  #isPaused = false;
  #isClosed = false;

  constructor(
    @Inject(MAKE_QUEUE_WORKERS) workers: (process: Process, ended: (data: unknown) => void) => QueueWorkers,
    private readonly processor: AttemptProcessor,
    private readonly jobs: QueuedJobs,
    @Inject(AttemptLog) private readonly attemptLog: Pick<AttemptLog, 'isFilling'>,
    private readonly log: ThrottledLog,
  ) {
    this.#workers = workers(
      (job, token, signal) => this.#process(job, token, signal),
      (data) => jobs.ended(data),
    );
  }

  onApplicationBootstrap(): void {
    if (!this.#isClosed) this.#workers.start();
  }

  /** Takes no more jobs and waits until the running jobs have ended. */
  close(): Promise<void> {
    this.#isClosed = true;
    return this.#workers.close();
  }

  async #process(job: Job<unknown>, token: string, signal?: AbortSignal): Promise<void> {
    if (this.attemptLog.isFilling) {
      void this.#pauseUntilReported();
      return putBack(job, token, Date.now() + 1_000);
    }
    if (isEmpty(job.data)) return this.#missing(job);
    if (job.finishedOn !== undefined) return this.#drop(job);
    return this.processor.process(job, token, signal);
  }

  async #pauseUntilReported(): Promise<void> {
    if (this.#isPaused) return;
    this.#isPaused = true;
    const { attemptLog, log } = this;
    log.warn('queue.paused', 'Kafka accepts no records of attempts; queued attempts wait until it does');
    try {
      await this.#workers.pause();
      while (attemptLog.isFilling) await delay(500, undefined, { ref: false });
      log.info('queue.resumed', 'Kafka accepts records of attempts again; queued attempts continue');
      await this.#workers.resume();
    } catch (error) {
      log.warn('queue.fault', 'The queue reports a fault; queued attempts continue when the fault has passed', {
        reason: reasonOf(error),
      });
    } finally {
      this.#isPaused = false;
    }
  }

  /**
   * Drops the id of a job that has ended. The id was still in a second list of the queue. This can happen after a crash of
   * Redis that cuts off the end of its append-only file (`AppendOnlyFile`). Without this step, workers take the job again
   * for ever.
   */
  #drop(job: Job<unknown>): void {
    this.log.warn('queue.leftover', 'The queue held the id of a finished delivery; the worker dropped the id', {
      jobId: job.id,
    });
  }

  /** Reports an id that has no job. Either BullMQ has removed the job after its end, or Redis has lost the job. */
  async #missing(job: Job<unknown>): Promise<void> {
    await this.jobs.missing(job.id ?? '');
    this.log.warn(
      'queue.missing',
      'Redis has no job for an id of the queue; within two minutes a worker looks whether the delivery has ended',
      { jobId: job.id },
    );
  }
}

const isEmpty = (data: unknown): boolean => typeof data === 'object' && data !== null && Object.keys(data).length === 0;
