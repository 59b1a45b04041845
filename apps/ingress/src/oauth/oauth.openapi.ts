import type { OperationText } from '@relay/openapi';
import { Introspection } from './introspection.js';
import { Jwks, ServerMetadata } from './server-metadata.js';
import { TokenForm } from './token-parameter.js';
import { TokenAnswer, TokenMembers } from './token-request.js';

const tag = 'Authentication';
const FORM = { schema: TokenForm, example: { token: 'eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJwYXJ0bmVyXzEifQ.c2ln' } };

export const issueToken: OperationText = {
  id: 'issueToken',
  tag,
  summary: 'Get an access token',
  description:
    'The client credentials grant (RFC 6749 section 4.4). The body may be empty, with any content type; OAuth libraries send a form. The client authenticates by HTTP Basic alone: a secret or an assertion in the body is `invalid_request` beside it, and `invalid_client` without it. One client fetches at most `TOKEN_RATE_LIMIT` (300) tokens a minute: keep a token until it ends, or is refused with 401.',
  body: { isRequired: false, schema: TokenMembers, example: { grant_type: 'client_credentials' } },
  answer: {
    description: 'The token.',
    content: {
      schema: TokenAnswer,
      example: { access_token: 'eyJ…', token_type: 'bearer', expires_in: 3600, scope: 'webhooks sessions' },
    },
  },
};

export const revokeToken: OperationText = {
  id: 'revokeToken',
  tag,
  summary: 'End an access token',
  description:
    'RFC 7009. Also answers 200 for a text that is no token, a token that has ended, or one of another client. Every process refuses the token within 2 seconds. One client revokes at most `TOKEN_RATE_LIMIT` (300) tokens a minute. Beyond 1,000 revoked tokens that have not expired, a further revocation ends every token of the client issued up to the newest of them.',
  body: { isRequired: true, ...FORM },
  answer: { description: 'The token, if it was one of this client, has ended.' },
};

export const introspectToken: OperationText = {
  id: 'introspectToken',
  tag,
  summary: 'Ask whether an access token is active',
  description:
    "RFC 7662. Another client's token is answered like one that never was; an operator may ask about all. One client asks at most `INTROSPECTION_RATE_LIMIT` (6,000) times a minute.",
  body: { isRequired: true, ...FORM },
  answer: {
    description: 'What the relay knows of it.',
    content: { schema: Introspection, example: { active: false } },
  },
};

export const readServerMetadata: OperationText = {
  id: 'readServerMetadata',
  tag,
  summary: 'Where OAuth libraries find what they need',
  description: 'RFC 8414.',
  answer: { description: 'The metadata.', content: { schema: ServerMetadata } },
};

export const readKeys: OperationText = {
  id: 'readKeys',
  tag,
  summary: 'Keys that access tokens are signed with',
  description:
    'RFC 7517. A rotation publishes several keys: a new key before it signs, an old key until its last token has ended.',
  answer: { description: 'The public keys.', content: { schema: Jwks } },
};
