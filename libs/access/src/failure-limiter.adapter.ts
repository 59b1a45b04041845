import { createHash } from 'node:crypto';
import type { Redis } from 'ioredis';
import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible';
import { BoundedMemory } from '@relay/identity';
import { globalKey } from '@relay/redis';

export interface FailureLimit {
  /** Names the counters, so that two limits never share one. */
  readonly name: string;
  /** Failures allowed in one window. */
  readonly points: number;
  readonly windowMs: number;
}

/**
 * Counts failures by key, over all processes; by this process alone while Redis is away. The key, such as client id and address,
 * must keep one client's failures from limiting another. Never rejects. Redis holds the hash of a key: a caller may send its secret
 * in place of its client id.
 */
export class FailureLimiter {
  readonly #limiter: RateLimiterRedis;
  /** Hash of a key to the time of its next allowed failure. */
  readonly #blocked = new BoundedMemory<number>(10_000);

  constructor(
    redis: Redis,
    readonly limit: FailureLimit,
  ) {
    const options = { points: limit.points, duration: limit.windowMs / 1_000 };
    this.#limiter = new RateLimiterRedis({
      ...options,
      storeClient: redis,
      keyPrefix: globalKey('failures', limit.name),
      insuranceLimiter: new RateLimiterMemory(options),
      // A key over its limit is refused from memory: a flood does not reach Redis.
      inMemoryBlockOnConsumed: limit.points + 1,
    });
  }

  /** Counts a failure. Returns whole seconds to wait (`Retry-After`) beyond the limit, else undefined. */
  async fail(key: string): Promise<number | undefined> {
    const hash = hashOf(key);
    try {
      await this.#limiter.consume(hash);
      return undefined;
    } catch (refused) {
      if (!(refused instanceof RateLimiterRes)) return undefined;
      this.#blocked.set(hash, Date.now() + refused.msBeforeNext);
      return secondsOf(refused);
    }
  }

  /** Whole seconds to wait when this process knows that the key is beyond its limit, else undefined. Reads memory only. */
  knownBlockedFor(key: string): number | undefined {
    const waitMs = (this.#blocked.get(hashOf(key)) ?? 0) - Date.now();
    return waitMs > 0 ? secondsOf({ msBeforeNext: waitMs }) : undefined;
  }

  /** Whole seconds to wait when the key is beyond its limit, else undefined. Counts nothing. */
  async blockedFor(key: string): Promise<number | undefined> {
    const known = this.knownBlockedFor(key);
    if (known !== undefined) return known;
    const hash = hashOf(key);
    try {
      const state = await this.#limiter.get(hash);
      if (state === null || state.remainingPoints > 0) return undefined;
      this.#blocked.set(hash, Date.now() + state.msBeforeNext);
      return secondsOf(state);
    } catch {
      return undefined;
    }
  }
}

const hashOf = (key: string): string => createHash('sha256').update(key).digest('base64url');
const secondsOf = (state: Pick<RateLimiterRes, 'msBeforeNext'>): number =>
  Math.max(1, Math.ceil(state.msBeforeNext / 1_000));
