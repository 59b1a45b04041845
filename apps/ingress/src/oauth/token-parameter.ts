import { z } from 'zod';
import { OAuthError } from './oauth-error.js';

/** The form of RFC 7009 section 2.1 and RFC 7662 section 2.1. */
export const TokenForm = z
  .object({
    token: z.string().min(1).describe('The access token.'),
    token_type_hint: z.string().optional().describe('Not needed: there are access tokens only.'),
  })
  .meta({ id: 'TokenForm', description: 'One token, form-encoded.' });

/** @throws OAuthError `invalid_request` when there is no token, or more than one */
export function readTokenParameter(bytes: Buffer | undefined): string {
  const given = new URLSearchParams(bytes?.toString('utf8')).getAll('token');
  const form = TokenForm.safeParse({ token: given[0] });
  if (!form.success || given.length > 1)
    throw new OAuthError(400, 'invalid_request', 'Exactly one token must be in the form');
  return form.data.token;
}
