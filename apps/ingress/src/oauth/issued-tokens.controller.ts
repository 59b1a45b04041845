import { Controller, HttpCode, Inject, Post, Req, Res } from '@nestjs/common';
import { AccessTokens, holderOf, RevokedTokens, type Caller, type VerifiedToken } from '@relay/access';
import { hasRole, type ClientRecord } from '@relay/identity';
import { Access, IgnoresUnknown, callerOf, TakesBody, type FastifyReply, type FastifyRequest } from '@relay/http';
import { INGRESS_CONFIG, type IngressConfig } from '@relay/settings';
import { Operation } from '@relay/openapi';
import { refuseSecondClient } from './client-parameters.js';
import { ClientAuthenticator } from './client-authenticator.js';
import { ClientQuotas } from './client-quotas.js';
import type { Introspection } from './introspection.js';
import { introspectToken, revokeToken } from './oauth.openapi.js';
import { readTokenParameter } from './token-parameter.js';

const FORM = { types: ['application/x-www-form-urlencoded'] };

/**
 * Token introspection (RFC 7662) and revocation (RFC 7009). A token of another client is answered like an unknown one,
 * so that these endpoints do not reveal tokens; operators may look at the tokens of every client.
 */
@Controller('auth')
@Access({ kind: 'client' })
export class IssuedTokensController {
  constructor(
    private readonly clients: ClientAuthenticator,
    private readonly quotas: ClientQuotas,
    private readonly tokens: AccessTokens,
    private readonly revoked: RevokedTokens,
    @Inject(INGRESS_CONFIG) private readonly config: IngressConfig,
  ) {}

  /** 200 also for an invalid token: the client’s purpose is fulfilled (RFC 7009 section 2.2). */
  @Post('revoke')
  @IgnoresUnknown()
  @Operation(revokeToken)
  @HttpCode(200)
  @TakesBody(FORM)
  async revoke(@Req() request: FastifyRequest, @Res({ passthrough: true }) reply: FastifyReply): Promise<void> {
    const client = callerOf(request);
    await this.quotas.admitRevocation(client.clientId, reply);
    refuseSecondClient(request, client.clientId);
    const token = await this.#find(readTokenParameter(request.rawBody));
    if (token?.clientId !== client.clientId) return;
    const { jti, issuedAtS, expiresAtS: endsAtS } = token;
    await this.revoked.revoke({ clientId: holderOf(token), jti, issuedAtS, endsAtS });
  }

  @Post('introspect')
  @IgnoresUnknown()
  @Operation(introspectToken)
  @HttpCode(200)
  @TakesBody(FORM)
  async introspect(
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Introspection> {
    const client = callerOf(request);
    await this.quotas.admitIntrospection(client.clientId, reply);
    refuseSecondClient(request, client.clientId);
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

  /** The token's client, if it may still use the token and the asking client may know of it. */
  async #ownerSeenBy(client: Caller, token: VerifiedToken): Promise<ClientRecord | undefined> {
    const mayKnow = client.clientId === token.clientId || hasRole(client.scopes, 'operator');
    return mayKnow ? this.clients.findByToken(token) : undefined;
  }

  async #find(text: string): Promise<VerifiedToken | undefined> {
    const verification = await this.tokens.verify(text);
    return verification.kind === 'valid' ? verification.token : undefined;
  }
}
