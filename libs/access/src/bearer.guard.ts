import { ClientDirectory, type ClientRecord } from '@relay/identity';
import { AccessTokens, type VerifiedToken } from './access-tokens.js';
import { readBearer } from './authorization.js';
import type { Caller } from './caller.js';
import { insufficientScope, invalidToken, missingCredential } from './challenge.js';
import { Guesses } from './guesses.port.js';
import { admits, isStillGranted, type PortalRule } from './portal-grant.js';

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

  /**
   * @param portal what the route demands of a portal token; it takes none without it
   * @throws ProblemError `unauthorized`, `insufficient-scope`, `too-many-requests`, `unavailable`
   */
  async callerOf(request: GuardedRequest, needed: readonly string[], portal?: PortalRule): Promise<Caller> {
    const token = readBearer(headerOf(request, 'authorization'));
    if (token === undefined) throw missingCredential();
    const verification = await this.tokens.verify(token);
    if (verification.kind === 'valid') return callerOf(verification.token, needed, this.directory, portal);
    if (verification.kind === 'ended') throw invalidToken();
    throw (await this.guesses.miss(request.ip)) ?? invalidToken();
  }
}

/** @throws ProblemError when the client is deleted or disabled, the secret behind the token has ended, the operator behind a portal token has lost its role, or a scope is missing */
export async function callerOf(
  token: VerifiedToken,
  needed: readonly string[],
  directory: ClientDirectory,
  portal?: PortalRule,
): Promise<Caller> {
  const client = await clientBehind(token, directory);
  if (client === undefined) throw invalidToken();
  if (token.portal !== undefined) {
    // Of a partner that may not do this itself, nobody else may either.
    const isHeld = needed.every((scope) => (client.scopes as readonly string[]).includes(scope));
    if (!isHeld || !admits(portal, token.portal)) throw insufficientScope(needed);
    return { clientId: client.clientId, scopes: [], audience: [], portal: token.portal };
  }
  const caller = callerWith(token, client);
  if (!needed.every((scope) => caller.scopes.includes(scope))) throw insufficientScope(needed);
  return caller;
}

/** The client of a token, if it still counts: of a portal token so must the operator who made the link. */
export async function clientBehind(
  token: VerifiedToken,
  directory: ClientDirectory,
): Promise<ClientRecord | undefined> {
  const client = await directory.findByToken(token);
  return token.portal === undefined || (await isStillGranted(token.portal, directory)) ? client : undefined;
}

/** The client may have lost scopes after the token was issued. */
export const callerWith = (token: VerifiedToken, client: ClientRecord): Caller => ({
  clientId: client.clientId,
  scopes: token.scopes.filter((scope) => client.scopes.includes(scope)),
  audience: client.audience,
  generation: token.generation,
});

/** The value of a header; the first of a repeated one. */
export function headerOf(request: Pick<GuardedRequest, 'headers'>, name: string): string | undefined {
  const value = request.headers[name];
  return typeof value === 'string' ? value : value?.[0];
}
