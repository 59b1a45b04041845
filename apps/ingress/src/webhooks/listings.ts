import { Inject, Injectable } from '@nestjs/common';
import { NetworkFailures, type SpentLimit } from '@relay/access';
import { PartnerQuota, spentHeaders, tellQuota, type FastifyReply, type FastifyRequest } from '@relay/http';
import { ClientDirectory } from '@relay/identity';
import { ProblemError } from '@relay/problem';
import { Shards } from '@relay/redis';
import { INGRESS_CONFIG, type IngressConfig } from '@relay/settings';
import { EventTypeName, WebhookStore, type Credential, type Listing, type Page } from '@relay/webhooks';
import { z } from 'zod';

/** Returns the schema for the `limit` of a query. @param limits matches the numbers from 1 to `longest` */
export const pageLimit = (longest: number, limits: RegExp, usual = longest) =>
  z
    .string()
    .regex(limits, `a number from 1 to ${longest} is expected`)
    .transform(Number)
    .default(usual)
    .describe(`Longest page: 1 to ${longest}.`);

/** Returns the members of a query for a page of webhooks. @param limits matches the numbers from 1 to `longest` */
export const webhooksPage = (longest: number, limits: RegExp) => ({
  eventType: EventTypeName.optional().describe('Only webhooks of this event type.'),
  limit: pageLimit(longest, limits),
  cursor: z
    .string()
    .regex(/^\d{1,15}$/, 'a cursor comes from the Link header of the page before')
    .transform(Number)
    .optional()
    .describe('Where the page begins; out of the Link header of the page before.'),
});

export const ListQuery = z.object(webhooksPage(1_000, /^(?:[1-9]\d{0,2}|1000)$/));

/** How many lists of one partner may run at once in a process, and how many more may wait. */
const [AT_ONCE, WAITING] = [2, 32];

/** Number of records for one point of the partner's quota. */
const RECORDS_A_POINT = 100;

/**
 * Lists webhooks. At most two lists of a partner run at once in a process. This bounds the load that many long lists cause
 * on Redis.
 */
@Injectable()
export class Listings {
  readonly #lines = new Map<string, { running: number; readonly waiting: (() => void)[] }>();

  constructor(
    @Inject(WebhookStore) private readonly webhooks: Pick<WebhookStore, 'list'>,
    private readonly partnerQuota: PartnerQuota,
  ) {}

  /** @throws ProblemError `too-many-requests` */
  async read(partnerId: string, listing: Listing): Promise<Page> {
    await this.#enter(partnerId);
    try {
      return await this.webhooks.list(partnerId, listing);
    } finally {
      this.#leave(partnerId);
    }
  }

  /**
   * Charges the records beyond the first 100, which the point of the request itself covers. Callers without a token have
   * other limits.
   */
  async charge({ caller }: FastifyRequest, reply: FastifyReply, read: number): Promise<void> {
    const points = Math.ceil(read / RECORDS_A_POINT) - 1;
    if (caller === undefined || points <= 0) return;
    const { quota } = this.partnerQuota;
    const { remainingPoints, msBeforeNext } = await this.partnerQuota.consume(caller.clientId, points);
    tellQuota(reply, quota, remainingPoints, Math.max(1, Math.ceil(msBeforeNext / 1_000)));
  }

  async #enter(partnerId: string): Promise<void> {
    const line = this.#lines.get(partnerId) ?? { running: 0, waiting: [] };
    this.#lines.set(partnerId, line);
    if (line.running < AT_ONCE) {
      line.running += 1;
      return;
    }
    if (line.waiting.length >= WAITING)
      throw new ProblemError('too-many-requests', 'Too many lists of your webhooks are running.', {
        headers: { 'retry-after': '1' },
      });
    await new Promise<void>((resolve) => line.waiting.push(resolve));
  }

  /** Lets the next waiting list run. */
  #leave(partnerId: string): void {
    const line = this.#lines.get(partnerId);
    if (line === undefined) return;
    const next = line.waiting.shift();
    if (next !== undefined) return next();
    line.running -= 1;
    if (line.running === 0) this.#lines.delete(partnerId);
  }
}

/**
 * Finds the partner of a list request without a token. A partner is found if it is the only one whose webhooks have the
 * credential of the request. Partners choose these credentials, so the credentials may be easy to guess. Therefore, after
 * too many failures of one network, or of all networks together, even the right credential has to wait.
 */
@Injectable()
export class CredentialPartners {
  readonly #failures: NetworkFailures;
  /** Counts successes. Otherwise a partner could use its own webhooks to find out which credentials other partners have. */
  readonly #listings: NetworkFailures;

  constructor(
    private readonly webhooks: WebhookStore,
    private readonly clients: ClientDirectory,
    { global }: Shards,
    @Inject(INGRESS_CONFIG) private readonly config: IngressConfig,
  ) {
    const limit = { name: 'list-by-credential', points: 10, windowMs: 60_000, everywhere: 600 };
    this.#failures = new NetworkFailures(global, limit);
    this.#listings = new NetworkFailures(global, { name: 'listings-by-credential', points: 120, windowMs: 60_000 });
  }

  /** @throws ProblemError `unauthorized`, which is the same for every faulty credential, or `too-many-requests` */
  async partnerOf(credential: Credential | undefined, address: string): Promise<string> {
    if (!this.config.LIST_BY_CREDENTIAL || credential === undefined)
      throw unauthorized('The request has no credential.');
    await this.#assertFree(address);
    const partnerId = await this.webhooks.partnerWith(credential);
    const partner = partnerId === undefined ? undefined : await this.clients.find(partnerId);
    if (partner?.scopes.includes('webhooks') === true) {
      // Many concurrent guesses can pass the first check before one of them has failed. The second check is for these.
      await this.#assertFree(address);
      const spent = await this.#listings.fail(address);
      if (spent !== undefined) throw tooMany(spent);
      return partner.clientId;
    }
    const spent = await this.#failures.fail(address);
    throw spent === undefined
      ? unauthorized('The credential does not tell whose webhooks are meant: send an access token.')
      : tooMany(spent);
  }

  /** Checks both limits. Otherwise a limit that is exhausted would reveal whether a credential exists. */
  async #assertFree(address: string): Promise<void> {
    for (const limiter of [this.#failures, this.#listings]) {
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
