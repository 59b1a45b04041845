import { parseJson } from '@relay/json';
import { z } from 'zod';
import { OAuthError } from './oauth-error.js';

/** The members of a token request beside its client. */
export interface TokenRequest {
  /** As sent; undefined: every scope of the client. */
  readonly scope: string | undefined;
}

const GRANT = 'client_credentials';

export const TokenMembers = z
  .object({
    grant_type: z
      .string()
      .default(GRANT)
      .meta({ description: 'The only grant there is.', examples: [GRANT] }),
    scope: z.string().default('').describe('Scopes of the client, apart by a space; left out: all of them.'),
  })
  .meta({ id: 'TokenRequest', description: 'What a token request may say beside its client.' });

/** Members and order of the specification's answer, with the scope behind (RFC 6749 section 5.1). */
export const TokenAnswer = z
  .object({
    access_token: z.string().describe('A JWT of RFC 9068; to be sent as it is.'),
    token_type: z.literal('bearer'),
    expires_in: z.int().describe('Seconds.'),
    scope: z.string().describe('What it may be used for, apart by a space.'),
  })
  .meta({ id: 'AccessToken', description: 'An access token.' });
export type TokenAnswer = z.infer<typeof TokenAnswer>;

/**
 * Reads the body of a token request. RFC 6749 section 4.4.2 has a form with `grant_type`; the relay’s specification has
 * a JSON content type and no body, which means the only grant there is. Unknown members are ignored (section 3.2).
 * @throws OAuthError
 */
export function readTokenRequest(mediaType: string, bytes: Buffer | undefined): TokenRequest {
  if (bytes === undefined) return { scope: undefined };
  return mediaType === 'application/x-www-form-urlencoded' ? readForm(bytes) : readObject(bytes);
}

function readForm(bytes: Buffer): TokenRequest {
  const form = new URLSearchParams(bytes.toString('utf8'));
  for (const name of ['grant_type', 'scope'])
    if (form.getAll(name).length > 1) throw invalid(`${name} must not be repeated`);
  const grant = form.get('grant_type');
  if (grant === null || grant === '') throw invalid('grant_type is missing');
  // A parameter without a value counts as omitted (RFC 6749 section 3.2).
  return granted(grant, form.get('scope') ?? '');
}

function readObject(bytes: Buffer): TokenRequest {
  const result = parseJson(bytes);
  const members = TokenMembers.safeParse(result.ok ? result.value : undefined);
  if (!members.success) throw invalid('The body must be absent, a JSON object of strings or a form');
  const { grant_type: grant, scope } = members.data;
  return granted(grant, scope);
}

function granted(grant: string, scope: string): TokenRequest {
  if (grant !== GRANT) throw new OAuthError(400, 'unsupported_grant_type', 'Only client_credentials is supported');
  return { scope: scope === '' ? undefined : scope };
}

const invalid = (description: string): OAuthError => new OAuthError(400, 'invalid_request', description);
