import { Controller, Get, Header, HttpCode, Inject, Module, Post, Req, Res } from '@nestjs/common';
import { AccessTokens, holderOf, RevokedTokens, type Caller, type VerifiedToken } from '@relay/access';
import {
  Access,
  callerOf,
  IgnoresUnknown,
  mediaTypeOf,
  SharedQuota,
  TakesBody,
  type FastifyReply,
  type FastifyRequest,
} from '@relay/http';
import { hasRole, narrowScopes, SCOPES_OF, type ClientRecord } from '@relay/identity';
import { Operation } from '@relay/openapi';
import { INGRESS_CONFIG, type IngressConfig } from '@relay/settings';
import { Redis } from 'ioredis';
import { ClientAuthenticator, ClientQuotas, type Endpoint } from './client-authenticator.js';
import { OAuthError } from './oauth-error.filter.js';
import { operations, type Introspection, type ServerMetadata } from './oauth.openapi.js';
import { readTokenParameter, readTokenRequest, refuseSecondClient, type TokenAnswer } from './token-request.js';

const FORM = { types: ['application/x-www-form-urlencoded'] };

/**
 * Issues access tokens, introspects (RFC 7662) and revokes (RFC 7009) them. A token of another client is answered like an
 * unknown one, so that these endpoints do not reveal tokens. Operators may introspect the tokens of every client.
 */
@Controller('auth')
@Access({ kind: 'client' })
class TokenController {
  constructor(
    private readonly clients: ClientAuthenticator,
    private readonly quotas: ClientQuotas,
    private readonly tokens: AccessTokens,
    private readonly revoked: RevokedTokens,
    @Inject(INGRESS_CONFIG) private readonly config: IngressConfig,
  ) {}

  @Post('token')
  @IgnoresUnknown()
  @Operation(operations.issueToken)
  @HttpCode(200)
  @Header('pragma', 'no-cache') // RFC 6749 section 5.1
  @TakesBody({ types: ['application/json', 'application/x-www-form-urlencoded'] })
  async issue(@Req() request: FastifyRequest, @Res({ passthrough: true }) reply: FastifyReply): Promise<TokenAnswer> {
    const client = await this.#admit('token', request, reply);
    const scope = readTokenRequest(mediaTypeOf(request.headers), request.rawBody);
    const scopes = narrowScopes(client.scopes, scope);
    if (scopes === undefined) throw new OAuthError(400, 'invalid_scope', 'The client does not have this scope');
    return {
      access_token: await this.tokens.issue(client.clientId, scopes, client.generation),
      token_type: 'bearer',
      expires_in: this.tokens.expiresInS,
      scope: scopes.join(' '),
    };
  }

  /** Answers 200 even for an invalid token, because the client’s purpose is fulfilled (RFC 7009 section 2.2). */
  @Post('revoke')
  @IgnoresUnknown()
  @Operation(operations.revokeToken)
  @HttpCode(200)
  @TakesBody(FORM)
  async revoke(@Req() request: FastifyRequest, @Res({ passthrough: true }) reply: FastifyReply): Promise<void> {
    const client = await this.#admit('revoke', request, reply);
    const token = await this.#find(readTokenParameter(request.rawBody));
    if (token?.clientId !== client.clientId) return;
    const { jti, issuedAtS, expiresAtS: endsAtS } = token;
    await this.revoked.revoke({ clientId: holderOf(token), jti, issuedAtS, endsAtS });
  }

  @Post('introspect')
  @IgnoresUnknown()
  @Operation(operations.introspectToken)
  @HttpCode(200)
  @TakesBody(FORM)
  async introspect(
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Introspection> {
    const client = await this.#admit('introspect', request, reply);
    const token = await this.#find(readTokenParameter(request.rawBody));
    const owner = token === undefined ? undefined : await this.#ownerSeenBy(client, token);
    if (token === undefined || owner === undefined) return { active: false };
    const { PUBLIC_URL: issuer } = this.config;
    return {
      active: true,
      scope: token.scopes.filter((scope) => owner.scopes.includes(scope)).join(' '),
      client_id: token.clientId,
      token_type: 'bearer',
      exp: token.expiresAtS,
      iat: token.issuedAtS,
      sub: token.clientId,
      aud: issuer,
      iss: issuer,
      jti: token.jti,
    };
  }

  async #admit(endpoint: Endpoint, request: FastifyRequest, reply: FastifyReply): Promise<Caller> {
    const client = callerOf(request);
    await this.quotas.admit(endpoint, client.clientId, reply);
    refuseSecondClient(request, client.clientId);
    return client;
  }

  /** Returns the token's client, if it may still use the token and the calling client may know about it. */
  async #ownerSeenBy(client: Caller, token: VerifiedToken): Promise<ClientRecord | undefined> {
    const mayKnow = client.clientId === token.clientId || hasRole(client.scopes, 'operator');
    return mayKnow ? this.clients.findByToken(token) : undefined;
  }

  async #find(text: string): Promise<VerifiedToken | undefined> {
    const verification = await this.tokens.verify(text);
    return verification.kind === 'valid' ? verification.token : undefined;
  }
}

const BASIC = ['client_secret_basic'];

/** Serves metadata for OAuth libraries and verifiers of tokens (RFC 8414 and RFC 7517). */
@Controller('.well-known')
@Access({ kind: 'public' })
class MetadataController {
  constructor(
    @Inject(INGRESS_CONFIG) private readonly config: IngressConfig,
    private readonly tokens: AccessTokens,
  ) {}

  @Get('oauth-authorization-server')
  @Operation(operations.readServerMetadata)
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
      // RFC 8414 requires the member; the relay has no authorization endpoint.
      response_types_supported: [],
      scopes_supported: Object.values(SCOPES_OF).flat(),
      jwks_uri: `${issuer}/.well-known/jwks.json`,
      service_documentation: `${issuer}/docs`,
    };
  }

  @Get('jwks.json')
  @Operation(operations.readKeys)
  @Header('cache-control', 'public, max-age=300')
  jwks(): ReturnType<AccessTokens['jwks']> {
    return this.tokens.jwks();
  }
}

@Module({
  controllers: [TokenController, MetadataController],
  providers: [
    {
      provide: ClientQuotas,
      useFactory: (redis: Redis, config: IngressConfig) => {
        const quota = (name: string, points: number): SharedQuota =>
          new SharedQuota(redis, { name, points, windowMs: 60_000 });
        return new ClientQuotas({
          token: quota('token', config.TOKEN_RATE_LIMIT),
          revoke: quota('revoke', config.TOKEN_RATE_LIMIT),
          introspect: quota('introspect', config.INTROSPECTION_RATE_LIMIT),
        });
      },
      inject: [Redis, INGRESS_CONFIG],
    },
  ],
})
export class OAuthModule {}
