import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import type { Quota } from './rate-limit.js';

/** What each partner has asked of this process: counted in memory, because a round trip for each request would cost more than it protects. */
export class PartnerQuota {
  readonly #limiter: RateLimiterMemory;

  constructor(readonly quota: Quota) {
    this.#limiter = new RateLimiterMemory({ points: quota.points, duration: quota.windowMs / 1_000 });
  }

  /** Counts one request, also one beyond the quota. */
  async consume(clientId: string): Promise<RateLimiterRes> {
    try {
      return await this.#limiter.consume(clientId);
    } catch (refused) {
      if (refused instanceof RateLimiterRes) return refused;
      throw refused;
    }
  }
}
