import { BullMQAdapter } from '@bull-board/api/bullMQAdapter';
import { dueTime } from '@relay/jobs';
import type { Job } from 'bullmq';
import type { Redis } from 'ioredis';

/**
 * A queue whose delayed jobs say when they are due. The board shows their making plus the delay they were made with, which is
 * another time for each job that was put back.
 */
export class DueTimes extends BullMQAdapter {
  constructor(
    private readonly redis: Redis,
    ...given: ConstructorParameters<typeof BullMQAdapter>
  ) {
    super(...given);
  }

  override async getJobs(...asked: Parameters<BullMQAdapter['getJobs']>): Promise<Job[]> {
    const jobs = await super.getJobs(...asked);
    await Promise.all(jobs.map((job) => this.#tellDue(job)));
    return jobs;
  }

  override async getJob(id: string): Promise<Job | undefined> {
    const job = await super.getJob(id);
    await this.#tellDue(job);
    return job;
  }

  /** Only what is shown changes: BullMQ takes neither from the job when it promotes one. */
  async #tellDue(job: Job | undefined): Promise<void> {
    if (job?.id === undefined) return;
    const dueAt = await dueTime(this.redis, job.queueName, job.id);
    if (dueAt === undefined) return;
    job.delay = dueAt - job.timestamp;
    job.opts.delay = job.delay;
  }
}
