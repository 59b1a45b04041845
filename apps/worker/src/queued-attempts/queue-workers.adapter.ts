import { DELIVERIES_QUEUE, StoredJob, bullOptions } from '@relay/retry';
import { reasonOf, type ThrottledLog } from '@relay/telemetry';
import { DelayedError, Worker, type Job } from 'bullmq';
import type { Redis } from 'ioredis';
import { logFieldsOf } from '../delivery/log-fields.js';

/** A job is this worker's for so long after it was fetched, and is kept by renewing; above the time an attempt may take. */
const LOCK_MS = 20_000;
/** What a dead worker had is looked for so often. */
const STALLED_EVERY_MS = 5_000;
/**
 * A BullMQ worker fetches as many jobs as it may run one after the other, a round trip each, before it begins the first,
 * and renews the lock of none meanwhile: 512 of them at 50 ms (a slow Redis, a starved process) take longer than the
 * lock lasts, so another worker or the same one would take them again. 64 at 150 ms do not. Fewer jobs each would be more
 * workers, and when a delayed job is due all of them look for it.
 */
const JOBS_EACH = 64;

export const QUEUE_WORKERS = Symbol('makes the queue workers');

export type Process = (job: Job<unknown>, token: string, signal: AbortSignal | undefined) => Promise<void>;

/**
 * The BullMQ workers of this process: few jobs each, so that none waits for its start for as long as its lock lasts. One
 * that did all the same is begun only if the lock is still ours.
 */
export class QueueWorkers {
  readonly #workers: Worker<unknown>[];

  constructor(
    connection: Redis,
    concurrency: number,
    process: Process,
    /** Told when a job has ended. */
    completed: (data: unknown) => void,
    private readonly log: ThrottledLog,
  ) {
    const options = {
      ...bullOptions(connection),
      autorun: false,
      lockDuration: LOCK_MS,
      stalledInterval: STALLED_EVERY_MS,
      // Default 1: BullMQ would fail a job at which two workers have died.
      maxStalledCount: 1_000_000,
      // Jobs say so themselves; an id without a job cannot.
      removeOnComplete: { count: 0 },
    };
    this.#workers = Array.from({ length: Math.ceil(concurrency / JOBS_EACH) }, (_, index) => {
      const worker = new Worker<unknown>(DELIVERIES_QUEUE, (job, token, signal) => begin(process, job, token, signal), {
        ...options,
        concurrency: Math.min(JOBS_EACH, concurrency - index * JOBS_EACH),
      });
      this.#watch(worker);
      worker.on('completed', ({ data }) => completed(data));
      return worker;
    });
  }

  start(): void {
    for (const worker of this.#workers) void worker.run();
  }

  /** Takes no more jobs; what runs goes on. */
  async pause(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.pause(true)));
  }

  async resume(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.resume()));
  }

  /** Takes no more jobs and waits for those that run. */
  async close(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.close()));
  }

  #watch(worker: Worker<unknown>): void {
    worker.on('error', (error) =>
      this.log.warn('queue.fault', 'The queue reports a fault; queued attempts go on when it has passed', {
        reason: reasonOf(error),
      }),
    );
    worker.on('failed', (job, error) => {
      const stored = StoredJob.safeParse(job?.data).data;
      this.log.warn('queue.step_failed', 'A step of a queued attempt failed; the job comes again in 5 s', {
        ...(stored === undefined ? { jobId: job?.id } : logFieldsOf(stored, stored.attempts + 1)),
        reason: reasonOf(error),
      });
    });
    // BullMQ tells of a lost lock but lets the job run: another worker may have it by now, so ours ends at once.
    worker.on('lockRenewalFailed', (ids) => {
      for (const id of ids) worker.cancelJob(id, 'its lock was lost');
    });
  }
}

/** Begins a job that was fetched under this token, unless its lock may be lost and is. */
export async function begin(process: Process, job: Job<unknown>, token = '', signal?: AbortSignal): Promise<void> {
  const fetchedAt = job.processedOn ?? 0;
  const mayBeLost = Math.abs(Date.now() - fetchedAt) > LOCK_MS / 2;
  // Leaves the job alone: whoever has it now decides.
  if (mayBeLost && (await job.extendLock(token, LOCK_MS)) !== 1) throw new DelayedError();
  return process(job, token, signal);
}
