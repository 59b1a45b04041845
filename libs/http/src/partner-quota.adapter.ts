import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { ProblemError } from '@relay/problem';
import { presentReply } from './present-reply.js';
import { spentHeaders, tellQuota, type Quota } from './rate-limit.js';

/**
 * Counts each partner’s requests to this process, in memory: a round trip for each request would cost more than the
 * limit protects.
 */
export class PartnerQuota {
  readonly #limiter: RateLimiterMemory;

  constructor(readonly quota: Quota) {
    this.#limiter = new RateLimiterMemory({ points: quota.points, duration: quota.windowMs / 1_000 });
  }

  /** Counts a request, or its cost in points, also beyond the quota. */
  async consume(clientId: string, points = 1): Promise<RateLimiterRes> {
    try {
      return await this.#limiter.consume(clientId, points);
    } catch (refused) {
      if (refused instanceof RateLimiterRes) return refused;
      throw refused;
    }
  }

  /**
   * Counts points and tells the quota in the answer to the present request.
   * @param detail text of the problem when the quota is used up
   * @throws ProblemError `too-many-requests`
   */
  async charge(clientId: string, detail: string, points: number): Promise<void> {
    const { consumedPoints, msBeforeNext, remainingPoints } = await this.consume(clientId, points);
    const resetS = Math.max(1, Math.ceil(msBeforeNext / 1_000));
    if (consumedPoints > this.quota.points)
      throw new ProblemError('too-many-requests', detail, { headers: spentHeaders(this.quota, resetS) });
    const reply = presentReply();
    if (reply !== undefined) tellQuota(reply, this.quota, remainingPoints, resetS);
  }
}
