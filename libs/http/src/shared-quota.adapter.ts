import { createHash } from 'node:crypto';
import { ProblemError } from '@relay/problem';
import { globalKey } from '@relay/redis';
import type { Redis } from 'ioredis';
import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible';
import type { FastifyReply } from './fastify-request.js';
import { spentHeaders, tellQuota, type Quota } from './rate-limit.js';

/** The rest of a key’s quota. */
export interface Allowance {
  /** Whether this use went beyond the quota. */
  readonly isSpent: boolean;
  readonly remaining: number;
  /** Whole seconds until the quota is renewed. */
  readonly resetS: number;
}

/**
 * A quota over all processes, with one Redis command a use; while Redis is away each process counts for itself.
 * `PartnerQuota` is cheaper, for frequent requests. Never rejects.
 */
export class SharedQuota {
  readonly #limiter: RateLimiterRedis;

  constructor(
    redis: Redis,
    readonly quota: Quota,
  ) {
    const options = { points: quota.points, duration: quota.windowMs / 1_000 };
    this.#limiter = new RateLimiterRedis({
      ...options,
      storeClient: redis,
      keyPrefix: globalKey('quota', quota.name),
      insuranceLimiter: new RateLimiterMemory(options),
      // A key over its quota is refused from memory: a flood does not reach Redis.
      inMemoryBlockOnConsumed: quota.points + 1,
    });
  }

  /** Counts a use of the given points, also beyond the quota. */
  async consume(key: string, points = 1): Promise<Allowance> {
    try {
      return this.#allowanceOf(await this.#limiter.consume(hashOf(key), points), false);
    } catch (refused) {
      if (refused instanceof RateLimiterRes) return this.#allowanceOf(refused, true);
      // A fault of the limiter itself must not refuse the caller.
      return { isSpent: false, remaining: this.quota.points, resetS: Math.ceil(this.quota.windowMs / 1_000) };
    }
  }

  /**
   * Counts a use and reports the rest of the quota in the answer’s headers.
   * @param detail text of the problem when the quota is used up
   * @throws ProblemError `too-many-requests`
   */
  async admit(key: string, reply: FastifyReply, detail: string, points = 1): Promise<void> {
    const { isSpent, remaining, resetS } = await this.consume(key, points);
    if (isSpent) throw new ProblemError('too-many-requests', detail, { headers: spentHeaders(this.quota, resetS) });
    tellQuota(reply, this.quota, remaining, resetS);
  }

  #allowanceOf({ remainingPoints, msBeforeNext }: RateLimiterRes, isSpent: boolean): Allowance {
    return { isSpent, remaining: remainingPoints, resetS: Math.max(1, Math.ceil(msBeforeNext / 1_000)) };
  }
}

const hashOf = (key: string): string => createHash('sha256').update(key).digest('base64url');
