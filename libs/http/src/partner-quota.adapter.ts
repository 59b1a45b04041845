import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import type { Quota } from './rate-limit.js';

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
}
