import { Controller, Get, Header, Inject } from '@nestjs/common';
import { AccessTokens } from '@relay/access';
import { SCOPES_OF } from '@relay/identity';
import { Access } from '@relay/http';
import { INGRESS_CONFIG, type IngressConfig } from '@relay/settings';
import { Operation } from '@relay/openapi';
import { readKeys, readServerMetadata } from './oauth.openapi.js';
import type { ServerMetadata } from './server-metadata.js';

const BASIC = ['client_secret_basic'];

/** Metadata for OAuth libraries and verifiers of tokens: RFC 8414 and RFC 7517. */
@Controller('.well-known')
@Access({ kind: 'public' })
export class MetadataController {
  constructor(
    @Inject(INGRESS_CONFIG) private readonly config: IngressConfig,
    private readonly tokens: AccessTokens,
  ) {}

  @Get('oauth-authorization-server')
  @Operation(readServerMetadata)
  @Header('cache-control', 'public, max-age=300')
  metadata(): ServerMetadata {
    const issuer = this.config.PUBLIC_URL;
    return {
      issuer,
      token_endpoint: `${issuer}/auth/token`,
      token_endpoint_auth_methods_supported: BASIC,
      revocation_endpoint: `${issuer}/auth/revoke`,
      revocation_endpoint_auth_methods_supported: BASIC,
      introspection_endpoint: `${issuer}/auth/introspect`,
      introspection_endpoint_auth_methods_supported: BASIC,
      grant_types_supported: ['client_credentials'],
      // Required by RFC 8414; there is no authorization endpoint.
      response_types_supported: [],
      scopes_supported: Object.values(SCOPES_OF).flat(),
      jwks_uri: `${issuer}/.well-known/jwks.json`,
      service_documentation: `${issuer}/docs`,
    };
  }

  @Get('jwks.json')
  @Operation(readKeys)
  @Header('cache-control', 'public, max-age=300')
  jwks(): ReturnType<AccessTokens['jwks']> {
    return this.tokens.jwks();
  }
}
