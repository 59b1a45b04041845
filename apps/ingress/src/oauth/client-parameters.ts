import { mediaTypeOf, type FastifyRequest } from '@relay/http';
import { parseJson } from '@relay/json';
import { OAuthError } from './oauth-error.js';

/** What authenticates a client elsewhere than in the header (RFC 6749 section 2.3.1, RFC 7521 section 4.2). */
const SECRETS = ['client_secret', 'client_assertion'];

/**
 * Refuses a second way of authentication in the body of a request whose client is authenticated by its header.
 * @throws OAuthError `invalid_request` for a secret or an assertion (RFC 6749 section 2.3), and for the id of another client
 */
export function refuseSecondClient(request: FastifyRequest, clientId: string): void {
  const members = membersOf(request);
  const secret = SECRETS.find((name) => members.some(([given]) => given === name));
  if (secret !== undefined)
    throw new OAuthError(400, 'invalid_request', `${secret} must not come beside HTTP Basic: one way is enough`);
  if (members.some(([name, value]) => name === 'client_id' && value !== clientId))
    throw new OAuthError(400, 'invalid_request', 'client_id must be that of the Authorization header');
}

function membersOf({ headers, rawBody }: FastifyRequest): (readonly [string, unknown])[] {
  if (rawBody === undefined) return [];
  if (mediaTypeOf(headers) === 'application/x-www-form-urlencoded')
    return [...new URLSearchParams(rawBody.toString('utf8'))];
  const parsed = parseJson(rawBody);
  return parsed.ok && typeof parsed.value === 'object' && parsed.value !== null ? Object.entries(parsed.value) : [];
}
