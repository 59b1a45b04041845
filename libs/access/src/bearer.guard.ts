import { ClientDirectory } from '@relay/identity';
import { AccessTokens } from './access-tokens.js';
import { readBearer } from './authorization.js';
import type { Caller } from './caller.js';
import { insufficientScope, invalidToken, missingCredential } from './challenge.js';
import { Guesses } from './guesses.port.js';

/** What the guards need of a request, whatever the HTTP framework: its head, so that none of its body must be read. */
export interface GuardedRequest {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Address of the caller. */
  readonly ip: string;
}

/** Lets in who has an access token of ours with every scope that is needed, while its client is not disabled. */
export class BearerGuard {
  constructor(
    private readonly tokens: AccessTokens,
    private readonly directory: ClientDirectory,
    private readonly guesses: Guesses,
  ) {}

  /** @throws ProblemError `unauthorized`, `insufficient-scope`, `too-many-requests`, `unavailable` */
  async callerOf(request: GuardedRequest, needed: readonly string[]): Promise<Caller> {
    const token = readBearer(headerOf(request, 'authorization'));
    if (token === undefined) throw missingCredential();
    const verification = await this.tokens.verify(token);
    if (verification.kind === 'valid') return callerOf(verification.token, needed, this.directory);
    if (verification.kind === 'ended') throw invalidToken();
    throw (await this.guesses.miss(request.ip)) ?? invalidToken();
  }
}

/** @throws ProblemError when the client is gone or disabled, or the token lacks a scope */
export async function callerOf(
  token: { readonly clientId: string; readonly scopes: readonly string[] },
  needed: readonly string[],
  directory: ClientDirectory,
): Promise<Caller> {
  const client = await directory.find(token.clientId);
  if (client === undefined) throw invalidToken();
  // The client's own scopes count too: they may have been taken from it after the token was issued.
  const scopes = token.scopes.filter((scope) => client.scopes.includes(scope));
  if (!needed.every((scope) => scopes.includes(scope))) throw insufficientScope(needed);
  return { clientId: client.clientId, scopes, audience: client.audience };
}

/** One header's value; of a repeated one the first. */
export function headerOf(request: Pick<GuardedRequest, 'headers'>, name: string): string | undefined {
  const value = request.headers[name];
  return typeof value === 'string' ? value : value?.[0];
}
