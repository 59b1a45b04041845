/** An error of the token endpoint (RFC 6749 section 5.2). */
export class OAuthError extends Error {
  constructor(
    readonly status: number,
    readonly code: OAuthErrorCode,
    /** For the client's developer; ASCII without quotes and backslashes (RFC 6749 section 5.2). */
    readonly description: string,
    readonly headers: Readonly<Record<string, string>> = {},
  ) {
    super(description);
    this.name = 'OAuthError';
  }
}

export type OAuthErrorCode =
  | 'invalid_client'
  | 'invalid_request'
  | 'invalid_scope'
  | 'unsupported_grant_type'
  /** Of RFC 6749 section 4.1.2.1; section 5.2 has no word for "not now". */
  | 'temporarily_unavailable';

/** The same answer for an unknown client, a wrong secret and a missing header. */
export const invalidClient = (): OAuthError =>
  new OAuthError(401, 'invalid_client', 'Client authentication failed', {
    'www-authenticate': 'Basic realm="relay", charset="UTF-8"',
  });

export const notNow = (status: 429 | 503, description: string, retryAfterS: number): OAuthError =>
  new OAuthError(status, 'temporarily_unavailable', description, { 'retry-after': String(retryAfterS) });
