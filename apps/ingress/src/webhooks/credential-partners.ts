import type { NetworkFailures, SpentLimit } from '@relay/access';
import type { ClientDirectory } from '@relay/identity';
import { ProblemError } from '@relay/problem';
import type { Credential, WebhookStore } from '@relay/webhooks';
import { spentHeaders } from '@relay/http';

/**
 * The partner of a listing without a token: the only one whose webhooks have the credential of the request. Partners choose these
 * credentials, so they may be easy to guess: after too many failures from one network, or from all together, even the right one
 * has to wait.
 */
export class CredentialPartners {
  constructor(
    private readonly webhooks: WebhookStore,
    private readonly clients: ClientDirectory,
    private readonly failures: NetworkFailures,
    /** Counts successes as well: with its own webhook a partner could find out which credentials others have. */
    private readonly listings: NetworkFailures,
    private readonly isEnabled: boolean,
  ) {}

  /** @throws ProblemError `unauthorized`, the same whatever is wrong with the credential, or `too-many-requests` */
  async partnerOf(credential: Credential | undefined, address: string): Promise<string> {
    if (!this.isEnabled || credential === undefined) throw unauthorized('The request has no credential.');
    await this.#assertFree(address);
    const partnerId = await this.webhooks.partnerWith(credential);
    const partner = partnerId === undefined ? undefined : await this.clients.find(partnerId);
    if (partner?.scopes.includes('webhooks') === true) {
      // Again: many concurrent guesses pass the first check before one of them has failed.
      await this.#assertFree(address);
      const spent = await this.listings.fail(address);
      if (spent !== undefined) throw tooMany(spent);
      return partner.clientId;
    }
    const spent = await this.failures.fail(address);
    throw spent === undefined
      ? unauthorized('The credential does not tell whose webhooks are meant: send an access token.')
      : tooMany(spent);
  }

  /** Checks both limits: the answer of an exhausted one must not reveal whether a credential exists. */
  async #assertFree(address: string): Promise<void> {
    for (const limiter of [this.failures, this.listings]) {
      const spent = await limiter.blockedFor(address);
      if (spent !== undefined) throw tooMany(spent);
    }
  }
}

const tooMany = ({ limit, waitS }: SpentLimit): ProblemError =>
  new ProblemError('too-many-requests', 'Too many lists were requested with a credential: send an access token.', {
    headers: spentHeaders(limit, waitS),
  });

const unauthorized = (detail: string): ProblemError =>
  new ProblemError('unauthorized', detail, { headers: { 'www-authenticate': 'Bearer realm="relay"' } });
