import { Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { AccessTokens } from './access-tokens.js';
import { readBasic, readBearer } from './authorization.js';
import { callerOf, headerOf, type GuardedRequest } from './bearer.guard.js';
import type { Caller } from './caller.js';
import { invalidCredential, invalidToken, missingCredential } from './challenge.js';
import { ClientDirectory } from '@relay/identity';
import type { CredentialType } from '@relay/identity';

const SCOPE = 'deliveries:write';

/**
 * Lets in sources: by an access token with `deliveries:write`, or by one of the credentials that the specification gives to
 * endpoints (`X-API-Key`, a fixed JWT as Bearer, Basic), so that one relay can be another's endpoint.
 */
@Injectable()
export class SourceGuard implements CanActivate {
  constructor(
    private readonly tokens: AccessTokens,
    private readonly directory: ClientDirectory,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = context.switchToHttp().getRequest<GuardedRequest>();
    request.caller = await this.#callerOf(request);
    return true;
  }

  async #callerOf(request: GuardedRequest): Promise<Caller> {
    const apiKey = headerOf(request, 'x-api-key');
    if (apiKey !== undefined) return this.#byCredential('apiKey', apiKey);
    const authorization = headerOf(request, 'authorization');
    const basic = readBasic(authorization);
    if (basic !== undefined) return this.#byCredential('basic', `${basic.user}:${basic.password}`);
    const token = readBearer(authorization);
    if (token === undefined) throw missingCredential();
    const verification = await this.tokens.verify(token);
    if (verification.kind === 'foreign') return this.#byCredential('jwt', token);
    if (verification.kind === 'invalid') throw invalidToken();
    return callerOf(verification.token, [SCOPE], this.directory);
  }

  async #byCredential(type: CredentialType, credential: string): Promise<Caller> {
    const client = await this.directory.findByCredential(type, credential);
    if (client !== undefined) return { clientId: client.clientId, scopes: client.scopes, audience: client.audience };
    throw type === 'jwt' ? invalidToken() : invalidCredential(type === 'basic' ? 'Basic' : 'Bearer');
  }
}
