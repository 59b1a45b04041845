import {
  formDecode,
  provesSecret,
  readBasic,
  type ClientDirectory,
  type ClientRecord,
  type FailureLimiter,
} from '@relay/access';
import type { Keyring } from '@relay/keyring';
import { ProblemError } from '@relay/problem';
import { invalidClient, notNow } from './oauth-error.js';

/**
 * Client authentication by Basic (RFC 6749 section 2.3.1). Failures are counted by client id and address: one client's limit
 * nobody else, and the right secret always passes. Guessing 256 bits is hopeless at any rate; the limit is against noise.
 */
export class ClientAuthenticator {
  constructor(
    private readonly directory: ClientDirectory,
    private readonly keyring: Keyring,
    private readonly failures: FailureLimiter,
  ) {}

  /** @throws OAuthError `invalid_client`, or `temporarily_unavailable` with 429 or 503 */
  async authenticate(authorization: string | undefined, address: string): Promise<ClientRecord> {
    const basic = readBasic(authorization);
    const clientId = formDecode(basic?.user ?? '');
    const secret = formDecode(basic?.password ?? '');
    if (basic === undefined || clientId === undefined || secret === undefined) throw invalidClient();
    const client = await this.#find(clientId);
    if (provesSecret(this.keyring, client, clientId, secret) && client !== undefined) return client;
    const waitS = await this.failures.fail(`${address} ${clientId.slice(0, 128)}`);
    throw waitS === undefined ? invalidClient() : notNow(429, 'Too many failed requests of this client', waitS);
  }

  async #find(clientId: string): Promise<ClientRecord | undefined> {
    try {
      return await this.directory.find(clientId);
    } catch (error) {
      if (!(error instanceof ProblemError)) throw error;
      throw notNow(503, 'Clients cannot be looked up at the moment', 2);
    }
  }
}
