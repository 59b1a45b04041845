import { Controller, Header, HttpCode, Post, Req, Res } from '@nestjs/common';
import { AccessTokens } from '@relay/access';
import { narrowScopes } from '@relay/identity';
import {
  Access,
  IgnoresUnknown,
  callerOf,
  mediaTypeOf,
  TakesBody,
  type FastifyReply,
  type FastifyRequest,
} from '@relay/http';
import { Operation } from '@relay/openapi';
import { ClientQuotas } from './client-quotas.js';
import { refuseSecondClient } from './client-parameters.js';
import { OAuthError } from './oauth-error.js';
import { issueToken } from './oauth.openapi.js';
import { readTokenRequest, type TokenAnswer } from './token-request.js';

@Controller('auth')
@Access({ kind: 'client' })
export class TokenController {
  constructor(
    private readonly tokens: AccessTokens,
    private readonly quotas: ClientQuotas,
  ) {}

  @Post('token')
  @IgnoresUnknown()
  @Operation(issueToken)
  @HttpCode(200)
  @Header('pragma', 'no-cache') // RFC 6749 section 5.1
  @TakesBody({ types: ['application/json', 'application/x-www-form-urlencoded'] })
  async issue(@Req() request: FastifyRequest, @Res({ passthrough: true }) reply: FastifyReply): Promise<TokenAnswer> {
    const client = callerOf(request);
    await this.quotas.admitToken(client.clientId, reply);
    refuseSecondClient(request, client.clientId);
    const { scope } = readTokenRequest(mediaTypeOf(request.headers), request.rawBody);
    const scopes = narrowScopes(client.scopes, scope);
    if (scopes === undefined) throw new OAuthError(400, 'invalid_scope', 'The client does not have this scope');
    return {
      access_token: await this.tokens.issue(client.clientId, scopes, client.generation),
      token_type: 'bearer',
      expires_in: this.tokens.expiresInS,
      scope: scopes.join(' '),
    };
  }
}
