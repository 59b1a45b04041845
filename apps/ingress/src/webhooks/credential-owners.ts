import type { FailureLimiter } from '@relay/access';
import type { ClientDirectory } from '@relay/identity';
import { ProblemError } from '@relay/problem';
import type { Credential, WebhookStore } from '@relay/webhooks';
import { networkOf } from '../http/network.js';
import { spentHeaders } from '../http/rate-limit.js';

/**
 * Whose webhooks a listing without a token means: the one partner whose webhooks have the credential that came with it
 * (the specification's own example has nothing else). Partners choose these credentials, so they may be easy to guess:
 * after too many failures from one network even the right one has to wait.
 */
export class CredentialOwners {
  constructor(
    private readonly webhooks: WebhookStore,
    private readonly clients: ClientDirectory,
    private readonly failures: FailureLimiter,
    /** Counts what succeeds as well: a partner may try on its own webhook which credentials nobody else has. */
    private readonly listings: FailureLimiter,
    private readonly isEnabled: boolean,
  ) {}

  /** @throws ProblemError `unauthorized`, the same whatever is wrong with the credential, or `too-many-requests` */
  async ownerOf(credential: Credential | undefined, address: string): Promise<string> {
    if (!this.isEnabled || credential === undefined) throw unauthorized('The request has no credential.');
    const network = networkOf(address);
    await this.#assertFree(network);
    const partnerId = await this.webhooks.partnerWith(credential);
    const partner = partnerId === undefined ? undefined : await this.clients.find(partnerId);
    if (partner?.scopes.includes('webhooks') === true) {
      // Asked again: of many guesses at once all were asked about before the first of them had failed.
      await this.#assertFree(network);
      const tooManyS = await this.listings.fail(network);
      if (tooManyS !== undefined) throw tooMany(this.listings, tooManyS);
      return partner.clientId;
    }
    const blockedS = await this.failures.fail(network);
    throw blockedS === undefined
      ? unauthorized('The credential does not tell whose webhooks are meant: send an access token.')
      : tooMany(this.failures, blockedS);
  }

  /** Neither limit is used up: what a spent one answers must not tell whether a credential is somebody's. */
  async #assertFree(network: string): Promise<void> {
    for (const limiter of [this.failures, this.listings]) {
      const waitS = await limiter.blockedFor(network);
      if (waitS !== undefined) throw tooMany(limiter, waitS);
    }
  }
}

const tooMany = ({ limit }: FailureLimiter, waitS: number): ProblemError =>
  new ProblemError('too-many-requests', 'Too many listings by a credential: send an access token.', {
    headers: spentHeaders(limit, waitS),
  });

const unauthorized = (detail: string): ProblemError =>
  new ProblemError('unauthorized', detail, { headers: { 'www-authenticate': 'Bearer realm="relay"' } });
