import { Job, type Queue } from 'bullmq';

/** Makes a delayed job due after this delay; a job that runs or has ended stays unchanged. */
export async function hasten(queue: Queue, id: string, delayMs: number): Promise<void> {
  const job = await Job.fromId(queue, id);
  // The job may have begun since; BullMQ refuses then.
  if ((await job?.isDelayed()) === true) await job?.changeDelay(delayMs).catch(() => undefined);
}
