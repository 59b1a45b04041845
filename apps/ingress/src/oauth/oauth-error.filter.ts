import { Catch, type ArgumentsHost, type ExceptionFilter } from '@nestjs/common';
import type { FastifyReply } from '@relay/http';
import { z } from 'zod';

const CODES = [
  'invalid_client',
  'invalid_request',
  'invalid_scope',
  'unsupported_grant_type',
  // This code comes from RFC 6749 section 4.1.2.1, because section 5.2 has none for a temporary refusal.
  'temporarily_unavailable',
] as const;

export const OAuthErrorBody = z
  .object({ error: z.enum(CODES), error_description: z.string().describe('For the developer of the client.') })
  .meta({ id: 'OAuthError', description: 'An error of RFC 6749 section 5.2.' });
export type OAuthErrorBody = z.infer<typeof OAuthErrorBody>;

/** An error of the endpoints that authenticate clients. */
export class OAuthError extends Error {
  constructor(
    readonly status: number,
    readonly code: OAuthErrorBody['error'],
    /** For the client's developer; ASCII without quotes and backslashes (RFC 6749 section 5.2). */
    readonly description: string,
    readonly headers: Readonly<Record<string, string>> = {},
  ) {
    super(description);
    this.name = 'OAuthError';
  }
}

/** Returns the error for an unknown client or a wrong secret, without saying which. */
export const invalidClient = (description = 'Client authentication failed'): OAuthError =>
  new OAuthError(401, 'invalid_client', description, { 'www-authenticate': 'Basic realm="relay", charset="UTF-8"' });

export const notNow = (status: 429 | 503, description: string, headers: Readonly<Record<string, string>>): OAuthError =>
  new OAuthError(status, 'temporarily_unavailable', description, headers);

@Catch(OAuthError)
export class OAuthErrorFilter implements ExceptionFilter {
  catch(error: OAuthError, host: ArgumentsHost): void {
    void host
      .switchToHttp()
      .getResponse<FastifyReply>()
      .status(error.status)
      .headers({ ...error.headers, pragma: 'no-cache' })
      .send({ error: error.code, error_description: error.description } satisfies OAuthErrorBody);
  }
}
