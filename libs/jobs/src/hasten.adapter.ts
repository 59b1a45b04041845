import type { LazyQueue } from './lazy-queue.adapter.js';

/** Makes a delayed job due after this delay; false when it runs, has ended or is due already. */
export async function hasten(queue: LazyQueue, id: string, delayMs: number): Promise<boolean> {
  const job = await (await queue.open()).getJob(id);
  if (job === undefined || !(await job.isDelayed())) return false;
  try {
    await job.changeDelay(delayMs);
    return true;
  } catch (error) {
    // The job may have begun since; BullMQ refuses then.
    if (await job.isDelayed()) throw error;
    return false;
  }
}
