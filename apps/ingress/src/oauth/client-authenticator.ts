import { formDecode, readBasic, type FailureLimiter, type VerifiedToken } from '@relay/access';
import type { ClientDirectory, ClientRecord, ProvenClient } from '@relay/identity';
import { ProblemError } from '@relay/problem';
import { networkOf } from '../http/network.js';
import { spentHeaders } from '../http/rate-limit.js';
import { invalidClient, notNow, type OAuthError } from './oauth-error.js';

/**
 * Client authentication by Basic (RFC 6749 section 2.3.1). Failures are counted by network and by client id, whichever network
 * they come from; the right secret always passes, so that nobody is locked out by what others do. Guessing 256 bits is hopeless
 * at any rate; the limits are against noise.
 */
export class ClientAuthenticator {
  constructor(
    private readonly directory: ClientDirectory,
    private readonly failuresOfClient: FailureLimiter,
    private readonly failuresOfNetwork: FailureLimiter,
  ) {}

  /** @throws OAuthError `invalid_client`, or `temporarily_unavailable` with 429 or 503 */
  async authenticate(authorization: string | undefined, address: string): Promise<ProvenClient> {
    const basic = readBasic(authorization);
    const clientId = formDecode(basic?.user ?? '');
    const secret = formDecode(basic?.password ?? '');
    if (basic === undefined || clientId === undefined || secret === undefined) throw invalidClient();
    const client = await orNotNow(this.directory.findBySecret(clientId, secret));
    if (client !== undefined) return client;
    throw (await this.#countFailure(clientId, address)) ?? invalidClient();
  }

  /** A network over its limit counts for no client any more: it cannot fill the store with made-up ids. */
  async #countFailure(clientId: string, address: string): Promise<OAuthError | undefined> {
    const counts = [
      [this.failuresOfNetwork, networkOf(address)],
      [this.failuresOfClient, clientId.slice(0, 128)],
    ] as const;
    for (const [failures, key] of counts) {
      const waitS = await failures.fail(key);
      if (waitS !== undefined) return notNow(429, 'Too many failed requests', spentHeaders(failures.limit, waitS));
    }
    return undefined;
  }

  /** The client that may use this token. @throws OAuthError `temporarily_unavailable` with 503 */
  findByToken(token: VerifiedToken): Promise<ClientRecord | undefined> {
    return orNotNow(this.directory.findByToken(token));
  }
}

async function orNotNow<T>(found: Promise<T>): Promise<T> {
  try {
    return await found;
  } catch (error) {
    if (!(error instanceof ProblemError)) throw error;
    throw notNow(503, 'Clients cannot be looked up at the moment', { 'retry-after': '2' });
  }
}
