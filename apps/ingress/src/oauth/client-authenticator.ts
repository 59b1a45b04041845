import { Catch, Inject, Injectable, type ArgumentsHost, type ExceptionFilter } from '@nestjs/common';
import {
  clientBehind,
  FailureLimiter,
  formDecode,
  headerOf,
  NetworkFailures,
  readBasic,
  type Caller,
  type GuardedRequest,
  type SpentLimit,
  type VerifiedToken,
} from '@relay/access';
import { SharedQuota, spentHeaders, tellQuota, type FastifyReply } from '@relay/http';
import { ClientDirectory, type ClientRecord } from '@relay/identity';
import { ProblemError } from '@relay/problem';
import { Shards } from '@relay/redis';
import { INGRESS_CONFIG, type IngressConfig } from '@relay/settings';
import { z } from 'zod';

/**
 * Authenticates clients by HTTP Basic (RFC 6749 section 2.3.1). Failures are counted for each network, and for each client
 * id over all networks. A request with the right secret always passes, so no client can lock out another one. The limits are
 * not there to stop guessing, which is hopeless with 256 random bits. They only limit the number of useless requests.
 */
@Injectable()
export class ClientAuthenticator {
  readonly #failuresOfClient: FailureLimiter;
  readonly #failuresOfNetwork: NetworkFailures;

  constructor(
    private readonly directory: ClientDirectory,
    { global }: Shards,
  ) {
    this.#failuresOfClient = new FailureLimiter(global, { name: 'token', points: 10, windowMs: 60_000 });
    this.#failuresOfNetwork = new NetworkFailures(global, { name: 'token-network', points: 100, windowMs: 60_000 });
  }

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

  /**
   * Counts a failure for its network, and then for its client id. Beyond the limit of the network, a failure does not count
   * for a client id, so a network cannot fill Redis with invented ids.
   */
  async #countFailure(clientId: string, address: string): Promise<OAuthError | undefined> {
    const spent = await this.#failuresOfNetwork.fail(address);
    if (spent !== undefined) return tooMany(spent);
    const { limit } = this.#failuresOfClient;
    const waitS = await this.#failuresOfClient.fail(clientId.slice(0, 128));
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

/**
 * The quotas of each client, counted over all processes. Only authenticated requests count, so no client can use up the
 * quota of another client.
 */
@Injectable()
export class ClientQuotas {
  readonly #quotas: Readonly<Record<Endpoint, SharedQuota>>;

  constructor(
    { global }: Shards,
    @Inject(INGRESS_CONFIG) { TOKEN_RATE_LIMIT, INTROSPECTION_RATE_LIMIT }: IngressConfig,
  ) {
    const quota = (name: Endpoint, points: number): SharedQuota =>
      new SharedQuota(global, { name, points, windowMs: 60_000 });
    this.#quotas = {
      token: quota('token', TOKEN_RATE_LIMIT),
      revoke: quota('revoke', TOKEN_RATE_LIMIT),
      introspect: quota('introspect', INTROSPECTION_RATE_LIMIT),
    };
  }

  /** @throws OAuthError `temporarily_unavailable` with 429 */
  async admit(endpoint: Endpoint, clientId: string, reply: FastifyReply): Promise<void> {
    const shared = this.#quotas[endpoint];
    const { isSpent, remaining, resetS } = await shared.consume(clientId);
    if (isSpent) throw notNow(429, 'Too many requests of this client', spentHeaders(shared.quota, resetS));
    tellQuota(reply, shared.quota, remaining, resetS);
  }
}

const CODES = [
  'invalid_client',
  'invalid_request',
  'invalid_scope',
  'unsupported_grant_type',
  // This code comes from RFC 6749 section 4.1.2.1, because section 5.2 has none for a temporary refusal.
  'temporarily_unavailable',
] as const;

export const OAuthErrorBody = z
  .object({ error: z.enum(CODES), error_description: z.string().describe('For the developer of the client.') })
  .meta({ id: 'OAuthError', description: 'An error of RFC 6749 section 5.2.' });
export type OAuthErrorBody = z.infer<typeof OAuthErrorBody>;

/** An error of the endpoints that authenticate clients. */
export class OAuthError extends Error {
  constructor(
    readonly status: number,
    readonly code: OAuthErrorBody['error'],
    /** A text for the developer of the client. It is ASCII without quotes and backslashes (RFC 6749 section 5.2). */
    readonly description: string,
    readonly headers: Readonly<Record<string, string>> = {},
  ) {
    super(description);
    this.name = 'OAuthError';
  }
}

/** Returns the error for an unknown client or a wrong secret. The error does not say which of both it is. */
export const invalidClient = (description = 'The client id or the client secret is wrong'): OAuthError =>
  new OAuthError(401, 'invalid_client', description, { 'www-authenticate': 'Basic realm="relay", charset="UTF-8"' });

export const notNow = (status: 429 | 503, description: string, headers: Readonly<Record<string, string>>): OAuthError =>
  new OAuthError(status, 'temporarily_unavailable', description, headers);

@Catch(OAuthError)
export class OAuthErrorFilter implements ExceptionFilter {
  catch(error: OAuthError, host: ArgumentsHost): void {
    void host
      .switchToHttp()
      .getResponse<FastifyReply>()
      .status(error.status)
      .headers({ ...error.headers, pragma: 'no-cache' })
      .send({ error: error.code, error_description: error.description } satisfies OAuthErrorBody);
  }
}
