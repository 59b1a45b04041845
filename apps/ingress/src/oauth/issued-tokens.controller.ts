import { Controller, HttpCode, Inject, Post, Req } from '@nestjs/common';
import { AccessTokens, RevokedTokens, type Caller, type VerifiedToken } from '@relay/access';
import { Access } from '../http/access.decorator.js';
import { callerOf, type FastifyRequest } from '../http/fastify-request.js';
import { Operation } from '../http/operation.decorator.js';
import { TakesBody } from '../http/takes-body.decorator.js';
import { INGRESS_CONFIG, type IngressConfig } from '../ingress.config.js';
import { ClientAuthenticator } from './client-authenticator.js';
import type { Introspection } from './introspection.js';
import { introspectToken, revokeToken } from './oauth.operations.js';
import { readTokenParameter } from './token-parameter.js';

const FORM = { types: ['application/x-www-form-urlencoded'] };

/**
 * What a client can ask about tokens that were issued, and end: RFC 7662 and RFC 7009. A token of another client is answered
 * as one that never was, so that nobody can try tokens here; operators may look at every client's.
 */
@Controller('auth')
@Access({ kind: 'client' })
export class IssuedTokensController {
  constructor(
    private readonly clients: ClientAuthenticator,
    private readonly tokens: AccessTokens,
    private readonly revoked: RevokedTokens,
    @Inject(INGRESS_CONFIG) private readonly config: IngressConfig,
  ) {}

  /** 200 also for what is no token, or no longer one: the client's purpose is fulfilled (RFC 7009 section 2.2). */
  @Post('revoke')
  @Operation(revokeToken)
  @HttpCode(200)
  @TakesBody(FORM)
  async revoke(@Req() request: FastifyRequest): Promise<void> {
    const client = callerOf(request);
    const token = await this.#find(readTokenParameter(request.rawBody));
    if (token?.clientId !== client.clientId) return;
    await this.revoked.revoke({ jti: token.jti, endsAtS: token.expiresAtS });
  }

  @Post('introspect')
  @Operation(introspectToken)
  @HttpCode(200)
  @TakesBody(FORM)
  async introspect(@Req() request: FastifyRequest): Promise<Introspection> {
    const client = callerOf(request);
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

  /** The token's client, if it may still act and the asking client may know of it. */
  async #ownerSeenBy(client: Caller, token: VerifiedToken): Promise<Pick<Caller, 'scopes'> | undefined> {
    if (client.clientId === token.clientId) return client;
    return client.scopes.includes('operations') ? this.clients.find(token.clientId) : undefined;
  }

  async #find(text: string): Promise<VerifiedToken | undefined> {
    const verification = await this.tokens.verify(text);
    return verification.kind === 'valid' ? verification.token : undefined;
  }
}
