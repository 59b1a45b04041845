import { operationsOf } from '@relay/openapi';
import { z } from 'zod';

export const GRANT = 'client_credentials';

export const TokenMembers = z
  .object({
    grant_type: z
      .string()
      .default(GRANT)
      .meta({ description: 'The only grant there is.', examples: [GRANT] }),
    scope: z.string().default('').describe('Scopes of the client, apart by a space; left out: all of them.'),
  })
  .meta({ id: 'TokenRequest', description: 'What a token request may say beside its client.' });

/**
 * The answer of the token endpoint. Its members have the order of the specification, followed by the scope (RFC 6749 section
 * 5.1).
 */
export const TokenAnswer = z
  .object({
    access_token: z.string().describe('A JWT of RFC 9068; to be sent as it is.'),
    token_type: z.literal('bearer'),
    expires_in: z.int().describe('Seconds.'),
    scope: z.string().describe('What it may be used for, apart by a space.'),
  })
  .meta({ id: 'AccessToken', description: 'An access token.' });
export type TokenAnswer = z.infer<typeof TokenAnswer>;

/** The form of a revocation (RFC 7009 section 2.1) or an introspection (RFC 7662 section 2.1). */
export const TokenForm = z
  .object({
    token: z.string().min(1).describe('The access token.'),
    token_type_hint: z.string().optional().describe('Not needed: there are access tokens only.'),
  })
  .meta({ id: 'TokenForm', description: 'One token, form-encoded.' });

/** The answer of an introspection (RFC 7662 section 2.2). For an inactive token, it has only the member `active`. */
export const Introspection = z
  .object({
    active: z.boolean().describe('Whether the relay would take the token now.'),
    scope: z.string().optional(),
    client_id: z.string().optional(),
    token_type: z.literal('bearer').optional(),
    exp: z.int().optional().describe('When it ends, Unix seconds.'),
    iat: z.int().optional().describe('When it was issued, Unix seconds.'),
    sub: z.string().optional(),
    aud: z.string().optional(),
    iss: z.string().optional(),
    jti: z.string().optional(),
  })
  .meta({ id: 'Introspection', description: 'What the relay knows of a token (RFC 7662).' });
export type Introspection = z.infer<typeof Introspection>;

const address = z.url();
const names = z.array(z.string());

export const ServerMetadata = z
  .object({
    issuer: address,
    token_endpoint: address,
    token_endpoint_auth_methods_supported: names,
    revocation_endpoint: address,
    revocation_endpoint_auth_methods_supported: names,
    introspection_endpoint: address,
    introspection_endpoint_auth_methods_supported: names,
    grant_types_supported: names,
    response_types_supported: names.describe('None: there is no authorization endpoint.'),
    scopes_supported: names,
    jwks_uri: address,
    service_documentation: address,
  })
  .meta({ id: 'ServerMetadata', description: 'OAuth 2.0 authorization server metadata (RFC 8414).' });
export type ServerMetadata = z.infer<typeof ServerMetadata>;

const Jwks = z
  .object({
    keys: z.array(
      z.looseObject({
        kty: z.literal('EC'),
        crv: z.literal('P-256'),
        x: z.string(),
        y: z.string(),
        kid: z.string(),
        use: z.literal('sig'),
        alg: z.literal('ES256'),
      }),
    ),
  })
  .meta({ id: 'Jwks', description: 'A JWK Set (RFC 7517).' });

const FORM = { schema: TokenForm, example: { token: 'eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJwYXJ0bmVyXzEifQ.c2ln' } };

export const operations = operationsOf('Authentication', {
  issueToken: {
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
  },
  revokeToken: {
    summary: 'End an access token',
    description:
      'RFC 7009. Also answers 200 for a text that is no token, a token that has ended, or one of another client. Every process refuses the token within 2 seconds. One client revokes at most `TOKEN_RATE_LIMIT` (300) tokens a minute. Beyond 1,000 revoked tokens that have not expired, a further revocation ends every token of the client issued up to the newest of them.',
    body: { isRequired: true, ...FORM },
    answer: { description: 'The token, if it was one of this client, has ended.' },
  },
  introspectToken: {
    summary: 'Ask whether an access token is active',
    description:
      "RFC 7662. Another client's token is answered like one that never was; an operator may ask about all. One client asks at most `INTROSPECTION_RATE_LIMIT` (6,000) times a minute.",
    body: { isRequired: true, ...FORM },
    answer: {
      description: 'What the relay knows of it.',
      content: { schema: Introspection, example: { active: false } },
    },
  },
  readServerMetadata: {
    summary: 'Where OAuth libraries find what they need',
    description: 'RFC 8414.',
    answer: { description: 'The metadata.', content: { schema: ServerMetadata } },
  },
  readKeys: {
    summary: 'Keys that access tokens are signed with',
    description:
      'RFC 7517. A rotation publishes several keys: a new key before it signs, an old key until its last token has ended.',
    answer: { description: 'The public keys.', content: { schema: Jwks } },
  },
});
