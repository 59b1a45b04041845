import { ProblemError } from '@relay/problem';
import type { Listing, Page, WebhookStore } from '@relay/webhooks';
import { rateLimitHeaders, type FastifyReply, type FastifyRequest, type PartnerQuota } from '@relay/http';

/** Listings of one partner that a process reads at once, and how many more may wait. */
const [AT_ONCE, WAITING] = [2, 32];

/** Records that one point of the partner’s quota pays for. */
const RECORDS_A_POINT = 100;

interface Line {
  running: number;
  readonly waiting: (() => void)[];
}

/** Reads lists of webhooks. A partner’s listings queue, so that many long ones cost Redis no more than two. */
export class Listings {
  readonly #lines = new Map<string, Line>();

  constructor(
    private readonly webhooks: Pick<WebhookStore, 'list'>,
    private readonly partnerQuota: Pick<PartnerQuota, 'quota' | 'consume'>,
  ) {}

  /** @throws ProblemError `too-many-requests` */
  async read(partnerId: string, listing: Listing): Promise<Page> {
    await this.#turn(partnerId);
    try {
      return await this.webhooks.list(partnerId, listing);
    } finally {
      this.#leave(partnerId);
    }
  }

  /**
   * Charges a listing by its length, beyond the one point of every request. Listings without a token have a quota by
   * network instead.
   */
  async charge({ caller }: FastifyRequest, reply: FastifyReply, read: number): Promise<void> {
    const points = Math.ceil(read / RECORDS_A_POINT) - 1;
    if (caller === undefined || points <= 0) return;
    const { quota } = this.partnerQuota;
    const { remainingPoints, msBeforeNext } = await this.partnerQuota.consume(caller.clientId, points);
    void reply.headers(rateLimitHeaders(quota, remainingPoints, Math.max(1, Math.ceil(msBeforeNext / 1_000))));
  }

  async #turn(partnerId: string): Promise<void> {
    const line = this.#lines.get(partnerId) ?? { running: 0, waiting: [] };
    this.#lines.set(partnerId, line);
    if (line.running < AT_ONCE) {
      line.running += 1;
      return;
    }
    if (line.waiting.length >= WAITING)
      throw new ProblemError('too-many-requests', 'Too many lists of your webhooks are under way.', {
        headers: { 'retry-after': '1' },
      });
    await new Promise<void>((resolve) => line.waiting.push(resolve));
  }

  /** The next waiting listing takes the place. */
  #leave(partnerId: string): void {
    const line = this.#lines.get(partnerId);
    if (line === undefined) return;
    const next = line.waiting.shift();
    if (next !== undefined) return next();
    line.running -= 1;
    if (line.running === 0) this.#lines.delete(partnerId);
  }
}
