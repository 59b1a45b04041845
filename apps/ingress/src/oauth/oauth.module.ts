import { Controller, Get, Header, HttpCode, Inject, Module, Post, Req, Res } from '@nestjs/common';
import { AccessTokens, holderOf, RevokedTokens, type Caller, type VerifiedToken } from '@relay/access';
import {
  Access,
  callerOf,
  IgnoresUnknown,
  mediaTypeOf,
  TakesBody,
  type FastifyReply,
  type FastifyRequest,
} from '@relay/http';
import { hasRole, narrowScopes, SCOPES_OF, type ClientRecord } from '@relay/identity';
import { parseJson } from '@relay/json';
import { Operation } from '@relay/openapi';
import { INGRESS_CONFIG, type IngressConfig } from '@relay/settings';
import { ClientAuthenticator, ClientQuotas, OAuthError, type Endpoint } from './client-authenticator.js';
import {
  GRANT,
  operations,
  TokenForm,
  TokenMembers,
  type Introspection,
  type ServerMetadata,
  type TokenAnswer,
} from './oauth.openapi.js';

const FORM = { types: ['application/x-www-form-urlencoded'] };

/**
 * Issues access tokens, introspects them (RFC 7662), and revokes them (RFC 7009). A token of another client is answered like
 * an unknown token, so that these endpoints do not reveal which tokens exist. Operators may introspect the tokens of every
 * client.
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
    if (scopes === undefined)
      throw new OAuthError(
        400,
        'invalid_scope',
        'The client has no such scope: without scope the token has all that it has',
      );
    return {
      access_token: await this.tokens.issue(client.clientId, scopes, client.generation),
      token_type: 'bearer',
      expires_in: this.tokens.expiresInS,
      scope: scopes.join(' '),
    };
  }

  /**
   * Answers 200 even for an invalid token, because the client wants an unusable token and has one (RFC 7009 section 2.2).
   */
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

  /**
   * Returns the client that owns the token, if it may still use the token and the calling client may know about the token.
   */
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

/** Serves metadata for OAuth libraries (RFC 8414), and keys for verifiers of tokens (RFC 7517). */
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
      // RFC 8414 requires this member, even though the relay has no authorization endpoint.
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

/**
 * Returns the scope of a token request as it was sent; undefined means every scope of the client. A client may send a form
 * with `grant_type` (RFC 6749 section 4.4.2). The relay’s specification also allows the JSON content type without a body,
 * which means the only grant of the relay. Unknown members are ignored (RFC 6749 section 3.2).
 * @throws OAuthError
 */
function readTokenRequest(mediaType: string, bytes: Buffer | undefined): string | undefined {
  if (bytes === undefined) return undefined;
  return mediaType === 'application/x-www-form-urlencoded' ? readForm(bytes) : readObject(bytes);
}

function readForm(bytes: Buffer): string | undefined {
  const form = new URLSearchParams(bytes.toString('utf8'));
  for (const name of ['grant_type', 'scope'])
    if (form.getAll(name).length > 1) throw invalid(`${name} must not be repeated`);
  const grant = form.get('grant_type');
  if (grant === null || grant === '') throw invalid('grant_type is missing');
  // A parameter without a value counts as omitted (RFC 6749 section 3.2).
  return granted(grant, form.get('scope') ?? '');
}

function readObject(bytes: Buffer): string | undefined {
  const result = parseJson(bytes);
  const members = TokenMembers.safeParse(result.ok ? result.value : undefined);
  if (!members.success) throw invalid('The body must be absent, a JSON object of strings or a form');
  return granted(members.data.grant_type, members.data.scope);
}

function granted(grant: string, scope: string): string | undefined {
  if (grant !== GRANT) throw new OAuthError(400, 'unsupported_grant_type', 'grant_type must be client_credentials');
  return scope === '' ? undefined : scope;
}

const invalid = (description: string): OAuthError => new OAuthError(400, 'invalid_request', description);

/** Returns the token in the form. @throws OAuthError `invalid_request` if there is not exactly one token */
function readTokenParameter(bytes: Buffer | undefined): string {
  const given = new URLSearchParams(bytes?.toString('utf8')).getAll('token');
  const form = TokenForm.safeParse({ token: given[0] });
  if (!form.success || given.length > 1) throw invalid('Exactly one token must be in the form');
  return form.data.token;
}

/** Members of a body that authenticate a client (RFC 6749 section 2.3.1 and RFC 7521 section 4.2). */
const SECRETS = ['client_secret', 'client_assertion'];

/**
 * Refuses a second authentication in the body, because the header has already authenticated the client.
 * @throws OAuthError `invalid_request` if the body has a secret or an assertion (RFC 6749 section 2.3), or the id of another
 * client
 */
function refuseSecondClient(request: FastifyRequest, clientId: string): void {
  const members = membersOf(request);
  const secret = SECRETS.find((name) => members.some(([given]) => given === name));
  if (secret !== undefined) throw invalid(`${secret} must not come beside HTTP Basic: one way is enough`);
  if (members.some(([name, value]) => name === 'client_id' && value !== clientId))
    throw invalid('client_id must be that of the Authorization header');
}

function membersOf({ headers, rawBody }: FastifyRequest): (readonly [string, unknown])[] {
  if (rawBody === undefined) return [];
  if (mediaTypeOf(headers) === 'application/x-www-form-urlencoded')
    return [...new URLSearchParams(rawBody.toString('utf8'))];
  const parsed = parseJson(rawBody);
  return parsed.ok && typeof parsed.value === 'object' && parsed.value !== null ? Object.entries(parsed.value) : [];
}

@Module({ controllers: [TokenController, MetadataController], providers: [ClientQuotas] })
export class OAuthModule {}
