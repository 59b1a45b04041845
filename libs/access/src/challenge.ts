import { ProblemError } from '@relay/problem';

/** The request carries no credential: RFC 6750 section 3.1 has no error code then. */
export const missingCredential = (): ProblemError =>
  new ProblemError('unauthorized', 'The request has no credential.', {
    headers: { 'www-authenticate': 'Bearer realm="relay"' },
  });

/** The token is invalid, expired or revoked. */
export const invalidToken = (): ProblemError =>
  new ProblemError('unauthorized', 'The access token is not valid, or no longer valid.', {
    headers: { 'www-authenticate': 'Bearer realm="relay", error="invalid_token"' },
  });

/** No source has this fixed credential. */
export const invalidCredential = (scheme: 'Bearer' | 'Basic'): ProblemError =>
  new ProblemError('unauthorized', 'The credential is not valid.', {
    headers: { 'www-authenticate': `${scheme} realm="relay"` },
  });

/** The token is valid and lacks a scope (RFC 6750 section 3.1). */
export const insufficientScope = (scopes: readonly string[]): ProblemError =>
  new ProblemError('insufficient-scope', `The scope ${scopes.join(' ')} is needed.`, {
    headers: { 'www-authenticate': `Bearer realm="relay", error="insufficient_scope", scope="${scopes.join(' ')}"` },
  });
