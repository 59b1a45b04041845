import { z } from 'zod';

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

export const Jwks = z
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
