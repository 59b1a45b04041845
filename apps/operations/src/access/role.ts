import { callerIdOf, callerOf, type FastifyRequest } from '@relay/http';
import { hasRole, scopeOfRole, type OperatorRole } from '@relay/identity';
import { ProblemError } from '@relay/problem';

/** @throws ProblemError unless these scopes give the role, or a higher one */
export function assertRole(scopes: readonly string[], needed: OperatorRole): void {
  if (hasRole(scopes, needed)) return;
  const scope = scopeOfRole(needed);
  const detail = hasRole(scopes, 'viewer') ? `This needs the role ${needed}.` : 'Only operators have access.';
  throw new ProblemError('insufficient-scope', detail, {
    headers: { 'www-authenticate': `Bearer realm="relay", error="insufficient_scope", scope="${scope}"` },
  });
}

/** @param canWrite OPERATIONS_WRITE @throws ProblemError if nothing may be changed */
export function assertWritable(canWrite: boolean | undefined): void {
  if (canWrite === false)
    throw new ProblemError('insufficient-scope', 'Nothing may be changed here: OPERATIONS_WRITE is false.');
}

/** Whether the caller may read envelopes, and therefore answers of endpoints, which may repeat an envelope. */
export const mayReadEnvelopes = (request: FastifyRequest): boolean => hasRole(callerOf(request).scopes, 'operator');

/** The operator and the request, in the form of `relay.operations`. */
export interface Actor {
  readonly operator: string;
  readonly requestId: string;
}

export const actorOf = (request: FastifyRequest): Actor => ({
  operator: callerIdOf(request),
  requestId: request.id,
});
