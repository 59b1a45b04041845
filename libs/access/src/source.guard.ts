import { ClientDirectory, type ClientRecord, type CredentialType } from '@relay/identity';
import { AccessTokens } from './access-tokens.js';
import { readBasic, readBearer } from './authorization.js';
import { callerOf, callerWith, headerOf, type GuardedRequest } from './bearer.guard.js';
import type { Caller } from './caller.js';
import { invalidCredential, invalidToken, missingCredential } from './challenge.js';
import { Guesses } from './guesses.port.js';

const SCOPE = 'deliveries:write';

/**
 * Lets in sources: by an access token with `deliveries:write`, or by one of the credentials that the specification gives to
 * endpoints (`X-API-Key`, a fixed JWT as Bearer, Basic), so that one relay can be another's endpoint. The right credential always
 * passes, so that no source is locked out by others in its network.
 */
export class SourceGuard {
  constructor(
    private readonly tokens: AccessTokens,
    private readonly directory: ClientDirectory,
    private readonly guesses: Guesses,
  ) {}

  /**
   * No promise for a token that was sent before and a client that memory has: sources send one token with every envelope, and
   * promises would cost more than reading memory.
   * @throws ProblemError `unauthorized`, `insufficient-scope`, `too-many-requests`, `unavailable`; as a rejection
   */
  callerOf(request: GuardedRequest): Promise<Caller> | Caller {
    return this.#knownCallerOf(request) ?? this.#provenCallerOf(request);
  }

  #knownCallerOf(request: GuardedRequest): Caller | undefined {
    if (headerOf(request, 'x-api-key') !== undefined) return undefined;
    const text = readBearer(headerOf(request, 'authorization'));
    const token = text === undefined ? undefined : this.tokens.known(text);
    const client = token === undefined ? undefined : this.directory.knownByToken(token);
    const caller = token === undefined || client === undefined ? undefined : callerWith(token, client);
    return caller?.scopes.includes(SCOPE) === true ? caller : undefined;
  }

  async #provenCallerOf(request: GuardedRequest): Promise<Caller> {
    const apiKey = headerOf(request, 'x-api-key');
    if (apiKey !== undefined) return this.#byCredential('apiKey', apiKey, request.ip);
    const authorization = headerOf(request, 'authorization');
    const basic = readBasic(authorization);
    if (basic !== undefined) return this.#byCredential('basic', `${basic.user}:${basic.password}`, request.ip);
    const token = readBearer(authorization);
    if (token === undefined) throw missingCredential();
    const verification = await this.tokens.verify(token);
    if (verification.kind === 'valid') return callerOf(verification.token, [SCOPE], this.directory);
    if (verification.kind === 'foreign') return this.#byCredential('jwt', token, request.ip);
    if (verification.kind === 'ended') throw invalidToken();
    throw (await this.guesses.miss(request.ip)) ?? invalidToken();
  }

  async #byCredential(type: CredentialType, credential: string, address: string): Promise<Caller> {
    const client = await this.#find(type, credential, address);
    if (client !== undefined) return { clientId: client.clientId, scopes: client.scopes, audience: client.audience };
    const refusal = type === 'jwt' ? invalidToken() : invalidCredential(type === 'basic' ? 'Basic' : 'Bearer');
    throw (await this.guesses.miss(address)) ?? refusal;
  }

  /** A flood of guesses must not become a flood of reads of the store: the list of all credentials answers them. */
  #find(type: CredentialType, credential: string, address: string): Promise<ClientRecord | undefined> {
    return this.guesses.isHeldBack(address)
      ? this.directory.findListedCredential(type, credential)
      : this.directory.findByCredential(type, credential);
  }
}
