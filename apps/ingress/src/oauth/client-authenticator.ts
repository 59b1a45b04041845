import {
  clientBehind,
  formDecode,
  headerOf,
  readBasic,
  type Caller,
  type FailureLimiter,
  type GuardedRequest,
  type NetworkFailures,
  type SpentLimit,
  type VerifiedToken,
} from '@relay/access';
import { spentHeaders, tellQuota, type FastifyReply, type SharedQuota } from '@relay/http';
import type { ClientDirectory, ClientRecord } from '@relay/identity';
import { ProblemError } from '@relay/problem';
import { invalidClient, notNow, type OAuthError } from './oauth-error.filter.js';

/**
 * Authenticates clients by Basic (RFC 6749 section 2.3.1). Failures are counted by network, and by client id over all
 * networks. The right secret always passes, so no client can lock out another. Guessing 256 bits is hopeless at any rate;
 * the limits only prevent noise.
 */
export class ClientAuthenticator {
  constructor(
    private readonly directory: ClientDirectory,
    private readonly failuresOfClient: FailureLimiter,
    private readonly failuresOfNetwork: NetworkFailures,
  ) {}

  /** @throws OAuthError `invalid_client`, or `temporarily_unavailable` with 429 or 503 */
  async authenticate(request: GuardedRequest): Promise<Caller> {
    const given = headerOf(request, 'authorization');
    if (given === undefined) throw invalidClient('Send the client id and the client secret by HTTP Basic');
    const basic = readBasic(given);
    const clientId = formDecode(basic?.user ?? '');
    const secret = formDecode(basic?.password ?? '');
    if (basic === undefined || clientId === undefined || secret === undefined) throw invalidClient();
    const client = await orNotNow(this.directory.findBySecret(clientId, secret));
    if (client !== undefined) {
      const { scopes, audience, provenGeneration: generation } = client;
      return { clientId, scopes, audience, generation };
    }
    throw (await this.#countFailure(clientId, request.ip)) ?? invalidClient();
  }

  /** Counts a failure. Beyond a network's limit it counts for no client, so a network cannot fill the store with invented ids. */
  async #countFailure(clientId: string, address: string): Promise<OAuthError | undefined> {
    const spent = await this.failuresOfNetwork.fail(address);
    if (spent !== undefined) return tooMany(spent);
    const { limit } = this.failuresOfClient;
    const waitS = await this.failuresOfClient.fail(clientId.slice(0, 128));
    return waitS === undefined ? undefined : tooMany({ limit, waitS });
  }

  /** Returns the client that may use this token. @throws OAuthError `temporarily_unavailable` with 503 */
  findByToken(token: VerifiedToken): Promise<ClientRecord | undefined> {
    return orNotNow(clientBehind(token, this.directory));
  }
}

const tooMany = ({ limit, waitS }: SpentLimit): OAuthError =>
  notNow(429, 'Too many failed requests', spentHeaders(limit, waitS));

async function orNotNow<T>(found: Promise<T>): Promise<T> {
  try {
    return await found;
  } catch (error) {
    if (!(error instanceof ProblemError)) throw error;
    throw notNow(503, 'Clients cannot be looked up at the moment', { 'retry-after': '2' });
  }
}

export type Endpoint = 'token' | 'revoke' | 'introspect';

/** Quotas of each client over all processes. They count only authenticated requests, so no client uses up another's quota. */
export class ClientQuotas {
  constructor(private readonly quotas: Readonly<Record<Endpoint, SharedQuota>>) {}

  /** @throws OAuthError `temporarily_unavailable` with 429 */
  async admit(endpoint: Endpoint, clientId: string, reply: FastifyReply): Promise<void> {
    const shared = this.quotas[endpoint];
    const { isSpent, remaining, resetS } = await shared.consume(clientId);
    if (isSpent) throw notNow(429, 'Too many requests of this client', spentHeaders(shared.quota, resetS));
    tellQuota(reply, shared.quota, remaining, resetS);
  }
}
