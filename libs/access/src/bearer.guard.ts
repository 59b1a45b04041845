import { Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { AccessTokens, type VerifiedToken } from './access-tokens.js';
import { readBearer } from './authorization.js';
import type { Caller } from './caller.js';
import { insufficientScope, invalidToken, missingCredential } from './challenge.js';
import { ClientDirectory } from '@relay/identity';
import { SCOPES } from './scopes.decorator.js';

/** What the guards need of a request, whatever the HTTP framework. */
export interface GuardedRequest {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  caller: Caller | undefined;
}

/** Lets in who has an access token of ours with every scope that `@Scopes` names, while its client is not disabled. */
@Injectable()
export class BearerGuard implements CanActivate {
  constructor(
    private readonly tokens: AccessTokens,
    private readonly directory: ClientDirectory,
    private readonly reflector: Reflector,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = context.switchToHttp().getRequest<GuardedRequest>();
    const needed = this.reflector.getAllAndOverride<readonly string[] | undefined>(SCOPES, [
      context.getHandler(),
      context.getClass(),
    ]);
    const token = readBearer(headerOf(request, 'authorization'));
    if (token === undefined) throw missingCredential();
    const verification = await this.tokens.verify(token);
    if (verification.kind !== 'valid') throw invalidToken();
    request.caller = await callerOf(verification.token, needed ?? [], this.directory);
    return true;
  }
}

/** @throws ProblemError when the client is gone or disabled, the secret the token was got by has ended, or it lacks a scope */
export async function callerOf(
  token: VerifiedToken,
  needed: readonly string[],
  directory: ClientDirectory,
): Promise<Caller> {
  const client = await directory.findByToken(token);
  if (client === undefined) throw invalidToken();
  // The client's own scopes count too: they may have been taken from it after the token was issued.
  const scopes = token.scopes.filter((scope) => client.scopes.includes(scope));
  if (!needed.every((scope) => scopes.includes(scope))) throw insufficientScope(needed);
  return { clientId: client.clientId, scopes, audience: client.audience };
}

/** One header's value; of a repeated one the first. */
export function headerOf(request: GuardedRequest, name: string): string | undefined {
  const value = request.headers[name];
  return typeof value === 'string' ? value : value?.[0];
}
