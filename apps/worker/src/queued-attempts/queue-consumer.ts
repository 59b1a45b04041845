import { setTimeout as delay } from 'node:timers/promises';
import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { reasonOf, ThrottledLog } from '@relay/telemetry';
import type { Job } from 'bullmq';
import { AttemptLog } from '../delivery/attempt-reports.js';
import { AttemptProcessor } from './attempt.processor.js';
import { putBack } from './put-back.adapter.js';
import { MAKE_QUEUE_WORKERS, type Process, type QueueWorkers } from './queue-workers.adapter.js';
import { QueuedJobs } from './queued-jobs.js';

/** Takes due jobs. Pauses while attempts cannot be reported because Kafka is away; reading the log stops by itself then. */
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

  /** Takes no more jobs and waits for the running ones. */
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
   * Drops a job that has ended. Its id was in a second list of the queue, which a torn end of Redis' append-only file can cause
   * (`AppendOnlyFile`). Without this the job is taken for ever.
   */
  #drop(job: Job<unknown>): void {
    this.log.warn('queue.leftover', 'The queue held the id of a finished delivery; the worker dropped the id', {
      jobId: job.id,
    });
  }

  /** Reports an id without a job: BullMQ has removed the job since it ended, or Redis has lost it. */
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
