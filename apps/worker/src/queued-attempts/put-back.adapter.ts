import { DUE_FIELD } from '@relay/jobs';
import { DelayedError, type Job, type MoveToDelayedOpts } from 'bullmq';

/** A job's backend. Its `moveToDelayed` also changes fields, which `Job` itself uses only for BullMQ's backoff. */
interface Backend {
  moveToDelayed(id: string, now: number, delayMs: number, token: string, opts: MoveToDelayedOpts): Promise<unknown>;
}

/**
 * Puts a job back, due at `at` (epoch milliseconds), and stores the result of its attempt in the same step. With two steps, a
 * crash or a lost lock in between can leave a job whose attempt is counted and that is due at once.
 * @param data replaces the job's own
 * @throws DelayedError for BullMQ when it is done; another error if the lock is lost, and then nothing was changed
 */
export async function putBack(job: Job<unknown>, token: string, at: number, data?: object): Promise<never> {
  const now = Date.now();
  const fieldsToUpdate = { [DUE_FIELD]: String(at), ...(data === undefined ? {} : { data: JSON.stringify(data) }) };
  const backend = Reflect.get(job, 'backend') as Backend;
  await backend.moveToDelayed(job.id ?? '', now, Math.max(0, at - now), token, { skipAttempt: true, fieldsToUpdate });
  throw new DelayedError();
}
