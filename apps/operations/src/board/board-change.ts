import { parseDeliveryId } from '@relay/delivery';
import { DELIVERIES_QUEUE } from '@relay/jobs';
import { ProblemError } from '@relay/problem';

/** Character at the end of a group's name. No name of a queue contains it. */
export const GROUP_END = '.';

/** Matches a group of the board, before the name of a queue. */
const GROUP = String.raw`shard-\d{1,5}\.`;

/**
 * Returns the prefix of a shard's queues on the board, since their own names are the same in all shards. The board shows the
 * queues with one prefix as a group. Empty if there is one shard.
 * @param number number of the shard, from 0
 */
export const groupOf = (number: number, shards: number): string => (shards === 1 ? '' : `shard-${number}${GROUP_END}`);

/**
 * Paths of the changes that the board may make if it may make any. Removing, emptying, adding and editing jobs are not
 * among them: each could silently lose a promised delivery.
 */
const CHANGES = new RegExp(
  `^/board/api/queues/(?:${GROUP})?${DELIVERIES_QUEUE}/(?:promote|pause|resume|([^/]+)/promote)$`,
);

/**
 * Whether the path is a permitted change. Other words may replace the job id: `clean/promote` and `retry/promote` change
 * all jobs of a state.
 */
function isChange(path: string): boolean {
  const [found, job] = CHANGES.exec(path) ?? [];
  return found !== undefined && (job === undefined || parseDeliveryId(job) !== undefined);
}

/** @throws ProblemError unless the change is permitted */
export function assertBoardChange(method: string, path: string, canWrite: boolean): void {
  if (!canWrite) throw new ProblemError('insufficient-scope', 'The board is read-only: OPERATIONS_WRITE is not true.');
  if (method !== 'PUT' || !isChange(path))
    throw new ProblemError('insufficient-scope', 'The board may only promote jobs, and pause and resume deliveries.');
}
