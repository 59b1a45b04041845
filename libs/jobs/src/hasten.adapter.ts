import { Job, type Queue } from 'bullmq';

/** Makes a job that waits due after so many milliseconds; leaves one that runs, or has ended, alone. */
export async function hasten(queue: Queue, id: string, delayMs: number): Promise<void> {
  const job = await Job.fromId(queue, id);
  // Not delayed any more by then, and BullMQ refuses.
  if ((await job?.isDelayed()) === true) await job?.changeDelay(delayMs).catch(() => undefined);
}
