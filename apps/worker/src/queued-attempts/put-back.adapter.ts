import { DUE_FIELD } from '@relay/retry';
import { DelayedError, type Job, type MoveToDelayedOpts } from 'bullmq';

/** What stands behind a job. Its `moveToDelayed` changes fields as well; `Job` itself uses that for its own backoff only. */
interface Backend {
  moveToDelayed(id: string, now: number, delayMs: number, token: string, opts: MoveToDelayedOpts): Promise<unknown>;
}

/**
 * Puts a job back, due at that time (epoch milliseconds), and stores what its attempt showed in the same step: neither a crash
 * nor a lost lock can come in between and leave a job whose attempt is counted and that is due at once.
 * @param data replaces the job's own
 * @throws DelayedError for BullMQ when it is done; another error when the lock is lost, and nothing was changed
 */
export async function putBack(job: Job<unknown>, token: string, at: number, data?: object): Promise<never> {
  const now = Date.now();
  const fieldsToUpdate = { [DUE_FIELD]: String(at), ...(data === undefined ? {} : { data: JSON.stringify(data) }) };
  const backend = Reflect.get(job, 'backend') as Backend;
  await backend.moveToDelayed(job.id ?? '', now, Math.max(0, at - now), token, { skipAttempt: true, fieldsToUpdate });
  throw new DelayedError();
}
