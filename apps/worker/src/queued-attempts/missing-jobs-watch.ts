import { Inject, Injectable, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { WaitingJobs } from '@relay/jobs';
import { RetryQueue } from '@relay/retry';
import { reasonOf, ThrottledLog } from '@relay/telemetry';
import { LostJobs } from './lost-jobs.js';
import { QueuedJobs } from './queued-jobs.js';

/** Interval in ms at which the deliveries of one webhook are counted again. */
const LOOK_MS = 5_000;

/**
 * Counts the queued deliveries again, one webhook after the other, so that no leftover of a crash keeps a webhook parked.
 * Restores from the log the jobs that Redis has lost.
 */
@Injectable()
export class MissingJobsWatch implements OnApplicationBootstrap, OnModuleDestroy {
  #timer: NodeJS.Timeout | undefined;
  #looking = false;
  #recounted = '';

  constructor(
    @Inject(WaitingJobs) private readonly waiting: Pick<WaitingJobs, 'counts' | 'recount'>,
    @Inject(LostJobs) private readonly lost: Pick<LostJobs, 'find'>,
    @Inject(RetryQueue) private readonly queue: Pick<RetryQueue, 'add'>,
    @Inject(QueuedJobs) private readonly jobs: Pick<QueuedJobs, 'bodyLost' | 'uncount'>,
    private readonly log: ThrottledLog,
  ) {}

  onApplicationBootstrap(): void {
    this.#timer = setInterval(() => void this.look(), LOOK_MS).unref();
  }

  onModuleDestroy(): void {
    clearInterval(this.#timer);
  }

  async look(): Promise<void> {
    if (this.#looking) return;
    this.#looking = true;
    try {
      const ids = [...(await this.waiting.counts()).keys()].toSorted();
      const next = ids.find((id) => id > this.#recounted) ?? ids[0];
      this.#recounted = next ?? '';
      if (next !== undefined) await this.#recount(next);
    } catch (error) {
      this.#unsearched(error);
    } finally {
      this.#looking = false;
    }
  }

  async #recount(webhookId: string): Promise<void> {
    for (;;) {
      const { relisted, missing } = await this.waiting.recount(webhookId);
      let restored = relisted;
      for (const id of missing)
        if (await this.#takeBack(id).catch((error: unknown) => this.#unsearched(error, id))) restored += 1;
      if (restored > 0)
        this.log.warn(
          'queue.restored',
          'Redis lost jobs of waiting deliveries; the worker put them back into the queue',
          { webhookId, jobs: restored },
        );
      if (missing.length === 0) return;
    }
  }

  /** Restores a delivery without a job. Returns whether it was lost and is stored again. */
  async #takeBack(id: string): Promise<boolean> {
    const lost = await this.lost.find(id);
    switch (lost.kind) {
      case 'found':
        await this.queue.add(lost.delivery);
        return true;
      case 'bodyless':
        await this.jobs.bodyLost(lost.delivery.job);
        await this.jobs.uncount(id);
        return true;
      case 'ended':
        await this.jobs.uncount(id);
        return false;
      case 'stored':
        return false;
      default:
        return lost satisfies never;
    }
  }

  #unsearched(error: unknown, jobId?: string): false {
    this.log.warn(
      'queue.unsearched',
      'A store does not answer what became of missing jobs; a worker asks again within two minutes',
      { ...(jobId === undefined ? {} : { jobId }), reason: reasonOf(error) },
    );
    return false;
  }
}
