import { ProblemError } from '@relay/problem';
import type { PublishFailed } from '@relay/publishing';

/** The problem for the sender of an envelope that the log did not acknowledge. */
export function publishProblem(failure: PublishFailed): ProblemError {
  const isStored =
    // A broker that refuses a valid envelope has settings that break the promise: its sender is to repeat it.
    failure.reason === 'overloaded' || failure.reason === 'refused'
      ? 'Nothing was stored: repeat the request.'
      : 'It may have been stored: repeat it with the same id, which is safe.';
  return new ProblemError('unavailable', `The log did not acknowledge the envelope. ${isStored}`, {
    headers: { 'retry-after': failure.reason === 'overloaded' ? '1' : '2' },
    cause: failure,
  });
}
