import { parseDeliveryId } from '@relay/delivery';
import { DELIVERIES_QUEUE } from '@relay/jobs';
import { ProblemError } from '@relay/problem';

/**
 * What the board may change when it may change anything. Removing, emptying, adding and editing jobs are not among it: each
 * could make a delivery vanish that was promised, and nobody would see it.
 */
const CHANGES = new RegExp(`^/board/api/queues/${DELIVERIES_QUEUE}/(?:promote|pause|resume|([^/]+)/promote)$`);

/** The place of a job's id takes other words of the board too: `clean/promote` and `retry/promote` are about all jobs of a state. */
function isChange(path: string): boolean {
  const [found, job] = CHANGES.exec(path) ?? [];
  return found !== undefined && (job === undefined || parseDeliveryId(job) !== undefined);
}

/** @throws ProblemError unless this request only reads, or makes a change that is permitted */
export function assertBoardChange(method: string, path: string, canWrite: boolean): void {
  if (method === 'GET' || method === 'HEAD') return;
  if (!canWrite) throw new ProblemError('insufficient-scope', 'The board is read-only: OPERATIONS_WRITE is not true.');
  if (method !== 'PUT' || !isChange(path))
    throw new ProblemError('insufficient-scope', 'The board may promote jobs, and pause and resume deliveries, only.');
}
