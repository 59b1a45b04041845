import { BullMQAdapter } from '@bull-board/api/bullMQAdapter';
import { dueTime } from '@relay/jobs';
import type { Shard } from '@relay/redis';
import type { Job } from 'bullmq';

/**
 * A queue that shows when delayed jobs are due. The board adds the original delay to the time of creation, which is
 * wrong for jobs that were put back.
 */
export class DueTimeQueue extends BullMQAdapter {
  constructor(
    private readonly shard: Shard,
    ...given: ConstructorParameters<typeof BullMQAdapter>
  ) {
    super(...given);
  }

  override async getJobs(...asked: Parameters<BullMQAdapter['getJobs']>): Promise<Job[]> {
    const jobs = await super.getJobs(...asked);
    await Promise.all(jobs.map((job) => this.#setDueTime(job)));
    return jobs;
  }

  override async getJob(id: string): Promise<Job | undefined> {
    const job = await super.getJob(id);
    await this.#setDueTime(job);
    return job;
  }

  /** Changes the displayed job only: BullMQ does not read these fields when it promotes a job. */
  async #setDueTime(job: Job | undefined): Promise<void> {
    if (job?.id === undefined) return;
    const dueAt = await dueTime(this.shard, job.queueName, job.id);
    if (dueAt === undefined) return;
    job.delay = dueAt - job.timestamp;
    job.opts.delay = job.delay;
  }
}
