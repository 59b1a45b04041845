import { CannotOpen } from '@relay/keyring';
import { ProblemError, type ProblemCode } from '@relay/problem';
import { isRedisAway } from '@relay/redis';
import { RegistryUnavailable } from '@relay/registry';

/** Problems for errors of the HTTP layer, by status. The framework’s own messages would reveal its internals. */
const BY_STATUS: Readonly<Record<number, readonly [ProblemCode, string]>> = {
  400: ['invalid-request', 'The request cannot be read.'],
  401: ['unauthorized', 'The request has no valid credential.'],
  403: ['insufficient-scope', 'The request is not allowed to do this.'],
  404: ['not-found', 'There is no such path.'],
  408: ['request-timeout', 'The request did not arrive in time.'],
  413: ['payload-too-large', 'The body is longer than this path accepts.'],
  414: ['uri-too-long', 'A part of the path is too long.'],
  415: ['unsupported-media-type', 'The content type is malformed, or this path does not accept it.'],
  431: ['headers-too-large', 'The headers are too large.'],
};

/** The problem to answer for an error; `internal` for an unexpected one. */
export function problemOf(thrown: unknown): ProblemError {
  if (thrown instanceof ProblemError) return thrown;
  if (thrown instanceof RegistryUnavailable) return unconfirmed(thrown);
  if (thrown instanceof CannotOpen && thrown.isElsewhere)
    return new ProblemError('unavailable', 'This process lacks the key of a stored value at the moment.', {
      headers: { 'retry-after': '2' },
      cause: thrown,
    });
  if (isRedisAway(thrown))
    return new ProblemError('unavailable', 'Redis is not available at the moment.', {
      headers: { 'retry-after': '2' },
      cause: thrown,
    });
  const [code, detail] = BY_STATUS[statusOf(thrown)] ?? ['internal', 'The relay failed to answer.'];
  const headers = code === 'unauthorized' ? { 'www-authenticate': 'Bearer realm="relay"' } : {};
  return new ProblemError(code, detail, { headers, cause: thrown });
}

/** A change whose result is unknown, or registrations that cannot be read at the moment. */
function unconfirmed(cause: RegistryUnavailable): ProblemError {
  const detail = cause.mayBeStored
    ? 'The relay could not confirm the change. It may have been stored: look before you repeat it.'
    : isRedisAway(cause.cause)
      ? 'Redis is not available at the moment: registrations can be neither read nor changed.'
      : 'Registrations cannot be read or changed at the moment. Nothing was stored: repeat it.';
  return new ProblemError('unavailable', detail, { headers: { 'retry-after': '2' }, cause });
}

function statusOf(thrown: unknown): number {
  if (typeof thrown !== 'object' || thrown === null) return 0;
  const status: unknown = 'statusCode' in thrown ? thrown.statusCode : 'status' in thrown ? thrown.status : 0;
  return typeof status === 'number' ? status : 0;
}
