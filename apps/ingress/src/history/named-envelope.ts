import { ProblemError } from '@relay/problem';
import { EnvelopeId } from './retry-request.js';

/** Points of the quota: a payload, and an envelope that is looked for by its time, may read some megabytes of the log. */
export const POINTS_OF_A_SEARCH = 10;

export const unknownEnvelope = (): ProblemError =>
  new ProblemError(
    'not-found',
    'No delivery of this envelope to a webhook of yours is known. One that waits in the log for a parked or disabled webhook is read with `type` and `around`.',
  );

/** An id that is no UUID names no envelope. */
export function readEnvelopeId(given: string): string {
  const id = EnvelopeId.safeParse(given);
  if (!id.success) throw unknownEnvelope();
  return id.data;
}
