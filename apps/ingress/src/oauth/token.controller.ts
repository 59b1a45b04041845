import { Controller, HttpCode, Post, Req } from '@nestjs/common';
import { AccessTokens } from '@relay/access';
import { narrowScopes } from '@relay/identity';
import { Access } from '../http/access.decorator.js';
import { mediaTypeOf } from '../http/body-rule.js';
import { callerOf, type FastifyRequest } from '../http/fastify-request.js';
import { Operation } from '../http/operation.decorator.js';
import { TakesBody } from '../http/takes-body.decorator.js';
import { OAuthError } from './oauth-error.js';
import { issueToken } from './oauth.operations.js';
import { readTokenRequest, type TokenAnswer } from './token-request.js';

@Controller('auth')
@Access({ kind: 'client' })
export class TokenController {
  constructor(private readonly tokens: AccessTokens) {}

  @Post('token')
  @Operation(issueToken)
  @HttpCode(200)
  @TakesBody({ types: ['application/json', 'application/x-www-form-urlencoded'] })
  async issue(@Req() request: FastifyRequest): Promise<TokenAnswer> {
    const client = callerOf(request);
    const { scope } = readTokenRequest(mediaTypeOf(request.headers), request.rawBody);
    const scopes = narrowScopes(client.scopes, scope);
    if (scopes === undefined) throw new OAuthError(400, 'invalid_scope', 'The client does not have this scope');
    return {
      access_token: await this.tokens.issue(client.clientId, scopes),
      token_type: 'bearer',
      expires_in: this.tokens.expiresInS,
      scope: scopes.join(' '),
    };
  }
}
