import { parseDeliveryId } from '@relay/delivery';
import { DELIVERIES_QUEUE } from '@relay/jobs';
import { ProblemError } from '@relay/problem';
import { GROUP } from './board-names.js';

/**
 * The changes that the board may make if it may make any. Removing, emptying, adding and editing jobs are not among
 * them: each could silently lose a promised delivery.
 */
const CHANGES = new RegExp(
  `^/board/api/queues/(?:${GROUP})?${DELIVERIES_QUEUE}/(?:promote|pause|resume|([^/]+)/promote)$`,
);

/**
 * Other words of the board can stand in the place of a job id: `clean/promote` and `retry/promote` change all jobs of a
 * state.
 */
function isChange(path: string): boolean {
  const [found, job] = CHANGES.exec(path) ?? [];
  return found !== undefined && (job === undefined || parseDeliveryId(job) !== undefined);
}

/** @throws ProblemError unless the change is a permitted one */
export function assertBoardChange(method: string, path: string, canWrite: boolean): void {
  if (!canWrite) throw new ProblemError('insufficient-scope', 'The board is read-only: OPERATIONS_WRITE is not true.');
  if (method !== 'PUT' || !isChange(path))
    throw new ProblemError('insufficient-scope', 'The board may only promote jobs, and pause and resume deliveries.');
}
