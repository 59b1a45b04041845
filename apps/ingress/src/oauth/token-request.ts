import { mediaTypeOf, type FastifyRequest } from '@relay/http';
import { parseJson } from '@relay/json';
import { z } from 'zod';
import { OAuthError } from './oauth-error.filter.js';

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

/** Members in the specification's order, followed by the scope (RFC 6749 section 5.1). */
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
 * Returns the scope of a token request as sent; undefined means every scope of the client. RFC 6749 section 4.4.2 has a form
 * with `grant_type`. The relay’s specification has a JSON content type without a body, which means the only grant of the relay.
 * Unknown members are ignored (section 3.2).
 * @throws OAuthError
 */
export function readTokenRequest(mediaType: string, bytes: Buffer | undefined): string | undefined {
  if (bytes === undefined) return undefined;
  return mediaType === 'application/x-www-form-urlencoded' ? readForm(bytes) : readObject(bytes);
}

function readForm(bytes: Buffer): string | undefined {
  const form = new URLSearchParams(bytes.toString('utf8'));
  for (const name of ['grant_type', 'scope'])
    if (form.getAll(name).length > 1) throw invalid(`${name} must not be repeated`);
  const grant = form.get('grant_type');
  if (grant === null || grant === '') throw invalid('grant_type is missing');
  // A parameter without a value counts as omitted (RFC 6749 section 3.2).
  return granted(grant, form.get('scope') ?? '');
}

function readObject(bytes: Buffer): string | undefined {
  const result = parseJson(bytes);
  const members = TokenMembers.safeParse(result.ok ? result.value : undefined);
  if (!members.success) throw invalid('The body must be absent, a JSON object of strings or a form');
  return granted(members.data.grant_type, members.data.scope);
}

function granted(grant: string, scope: string): string | undefined {
  if (grant !== GRANT) throw new OAuthError(400, 'unsupported_grant_type', 'Only client_credentials is supported');
  return scope === '' ? undefined : scope;
}

const invalid = (description: string): OAuthError => new OAuthError(400, 'invalid_request', description);

/** The form of a revocation (RFC 7009 section 2.1) or introspection (RFC 7662 section 2.1). */
export const TokenForm = z
  .object({
    token: z.string().min(1).describe('The access token.'),
    token_type_hint: z.string().optional().describe('Not needed: there are access tokens only.'),
  })
  .meta({ id: 'TokenForm', description: 'One token, form-encoded.' });

/** @throws OAuthError `invalid_request` unless there is exactly one token */
export function readTokenParameter(bytes: Buffer | undefined): string {
  const given = new URLSearchParams(bytes?.toString('utf8')).getAll('token');
  const form = TokenForm.safeParse({ token: given[0] });
  if (!form.success || given.length > 1) throw invalid('Exactly one token must be in the form');
  return form.data.token;
}

/** Members of a body that authenticate a client (RFC 6749 section 2.3.1, RFC 7521 section 4.2). */
const SECRETS = ['client_secret', 'client_assertion'];

/**
 * Refuses a second authentication in the body, since the header has already authenticated the client.
 * @throws OAuthError `invalid_request` for a secret or an assertion (RFC 6749 section 2.3), and for the id of another client
 */
export function refuseSecondClient(request: FastifyRequest, clientId: string): void {
  const members = membersOf(request);
  const secret = SECRETS.find((name) => members.some(([given]) => given === name));
  if (secret !== undefined) throw invalid(`${secret} must not come beside HTTP Basic: one way is enough`);
  if (members.some(([name, value]) => name === 'client_id' && value !== clientId))
    throw invalid('client_id must be that of the Authorization header');
}

function membersOf({ headers, rawBody }: FastifyRequest): (readonly [string, unknown])[] {
  if (rawBody === undefined) return [];
  if (mediaTypeOf(headers) === 'application/x-www-form-urlencoded')
    return [...new URLSearchParams(rawBody.toString('utf8'))];
  const parsed = parseJson(rawBody);
  return parsed.ok && typeof parsed.value === 'object' && parsed.value !== null ? Object.entries(parsed.value) : [];
}
