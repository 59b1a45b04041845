import { ClientDirectory, type ClientRecord } from '@relay/identity';
import { AccessTokens, type VerifiedToken } from './access-tokens.js';
import { readBearer } from './authorization.js';
import type { Caller } from './caller.js';
import { insufficientScope, invalidToken, missingCredential } from './challenge.js';
import { Guesses } from './guesses.port.js';

/** The head of a request, as any HTTP framework has it: guards decide before the body is read. */
export interface GuardedRequest {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Address of the caller. */
  readonly ip: string;
}

/** Admits a caller with an access token of every required scope whose client is not disabled. */
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

/** @throws ProblemError when the client is deleted or disabled, the secret behind the token has ended, or a scope is missing */
export async function callerOf(
  token: VerifiedToken,
  needed: readonly string[],
  directory: ClientDirectory,
): Promise<Caller> {
  const client = await directory.findByToken(token);
  if (client === undefined) throw invalidToken();
  const caller = callerWith(token, client);
  if (!needed.every((scope) => caller.scopes.includes(scope))) throw insufficientScope(needed);
  return caller;
}

/** The client may have lost scopes after the token was issued. */
export const callerWith = (token: VerifiedToken, client: ClientRecord): Caller => ({
  clientId: client.clientId,
  scopes: token.scopes.filter((scope) => client.scopes.includes(scope)),
  audience: client.audience,
});

/** The value of a header; the first of a repeated one. */
export function headerOf(request: Pick<GuardedRequest, 'headers'>, name: string): string | undefined {
  const value = request.headers[name];
  return typeof value === 'string' ? value : value?.[0];
}
