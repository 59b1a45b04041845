import { ProblemError } from '@relay/problem';
import type { Listing, Page, WebhookStore } from '@relay/webhooks';
import { tellQuota, type FastifyReply, type FastifyRequest, type PartnerQuota } from '@relay/http';

/** Concurrent lists of one partner in a process, and how many more may wait. */
const [AT_ONCE, WAITING] = [2, 32];

/** Records per point of the partner's quota. */
const RECORDS_A_POINT = 100;

interface Line {
  running: number;
  readonly waiting: (() => void)[];
}

/** Lists of webhooks. The lists of one partner wait for each other, so that many long ones load Redis no more than two. */
export class Listings {
  readonly #lines = new Map<string, Line>();

  constructor(
    private readonly webhooks: Pick<WebhookStore, 'list'>,
    private readonly partnerQuota: Pick<PartnerQuota, 'quota' | 'consume'>,
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
   * Charges a request for the number of records or ids it read, beyond the one point of every request. A caller without a token is
   * charged by the quota of its network instead.
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

  /** Hands the place to the next waiting list. */
  #leave(partnerId: string): void {
    const line = this.#lines.get(partnerId);
    if (line === undefined) return;
    const next = line.waiting.shift();
    if (next !== undefined) return next();
    line.running -= 1;
    if (line.running === 0) this.#lines.delete(partnerId);
  }
}
