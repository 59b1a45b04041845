import { parseDeliveryId } from '@relay/delivery';
import { DELIVERIES_QUEUE } from '@relay/jobs';
import { ProblemError } from '@relay/problem';

/** Ends the name of a group of queues. No name of a queue has one. */
export const GROUP_END = '.';

/** A group of the board, before the name of a queue. */
const GROUP = String.raw`shard-\d{1,5}\.`;

/**
 * The beginning of the names that the board gives the queues of a shard, whose own names are those of all shards. The board shows what it ends
 * as a group. Empty where there is one shard.
 * @param number of the shard, from 0 on
 */
export const groupOf = (number: number, shards: number): string => (shards === 1 ? '' : `shard-${number}${GROUP_END}`);

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
