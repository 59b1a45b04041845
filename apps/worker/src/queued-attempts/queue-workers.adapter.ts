import { bullOptions, DELIVERIES_QUEUE, StoredJob } from '@relay/jobs';
import type { Shard, Shards } from '@relay/redis';
import { reasonOf, type ThrottledLog } from '@relay/telemetry';
import { DelayedError, Worker, type Job } from 'bullmq';
import { logFieldsOf } from '../delivery/attempt-reports.js';

/** Time in ms for which a job is locked for this worker; the lock is renewed while the job runs. */
const LOCK_MS = 20_000;
/** Interval in ms at which the jobs of dead workers are looked for. */
const STALLED_EVERY_MS = 5_000;
/**
 * Maximum of jobs that one BullMQ worker runs at once. It fetches as many jobs as it may run, one round trip each, before it
 * begins the first, and renews no lock meanwhile. At 50 ms each (a slow Redis, a starved process) 512 jobs take longer than the
 * lock lasts, so they are taken twice; 64 jobs at 150 ms do not. Fewer jobs each means more workers, all of which look for a
 * delayed job when it is due (docs/adr/0009).
 */
const JOBS_EACH = 64;

export const MAKE_QUEUE_WORKERS = Symbol('makes the queue workers');

export type Process = (job: Job<unknown>, token: string, signal: AbortSignal | undefined) => Promise<void>;

/**
 * The BullMQ workers of this process, about equally many for each shard. Each runs few jobs, so that no job waits for its start
 * for as long as its lock lasts. A job that has waited so long begins only if its lock is still ours.
 */
export class QueueWorkers {
  readonly #workers: Worker<unknown>[];

  constructor(
    shards: Shards,
    /** Jobs that run at once, in all shards; at least one in each. */
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
      // The default 1 makes BullMQ fail a job at which two workers have died.
      maxStalledCount: 1_000_000,
      // A job sets how long it is kept; this is for ids without a job.
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

  /** Takes no more jobs; running ones continue. */
  async pause(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.pause(true)));
  }

  async resume(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.resume()));
  }

  /** Takes no more jobs and waits for the running ones. */
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
    // BullMQ reports a lost lock but lets the job run. Another worker may have it by now, so ours ends at once.
    worker.on('lockRenewalFailed', (ids) => {
      for (const id of ids) worker.cancelJob(id, 'its lock was lost');
    });
  }
}

/** Returns the workers of each shard, each with the number of jobs that it runs at once. */
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

/** Begins a job that was fetched under this token. If its lock may be lost, first checks that it is not. */
export async function begin(process: Process, job: Job<unknown>, token = '', signal?: AbortSignal): Promise<void> {
  const fetchedAt = job.processedOn ?? 0;
  const mayBeLost = Math.abs(Date.now() - fetchedAt) > LOCK_MS / 2;
  // Another worker has the job and decides.
  if (mayBeLost && (await job.extendLock(token, LOCK_MS)) !== 1) throw new DelayedError();
  return process(job, token, signal);
}
