import { createHash } from 'node:crypto';
import type { Redis } from 'ioredis';
import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible';
import { BoundedMemory } from '@relay/identity';
import { redisKey } from '@relay/redis';

export interface FailureLimit {
  /** Names the counters, so that two limits never share one. */
  readonly name: string;
  /** Failures allowed in one window. */
  readonly points: number;
  readonly windowMs: number;
}

/**
 * Counts failures by key, over all processes; by this process alone while Redis is away. Keys are chosen by the caller so that
 * one client's failures limit nobody else, such as client id and address. Never rejects. Redis holds a key's hash: what was sent in
 * place of a client id may be a secret, such as by a caller who confuses the two.
 */
export class FailureLimiter {
  readonly #limiter: RateLimiterRedis;
  /** Hash of a key to when it may fail again. */
  readonly #blocked = new BoundedMemory<number>(10_000);

  constructor(
    redis: Redis,
    readonly limit: FailureLimit,
  ) {
    const options = { points: limit.points, duration: limit.windowMs / 1_000 };
    this.#limiter = new RateLimiterRedis({
      ...options,
      storeClient: redis,
      keyPrefix: redisKey('failures', limit.name),
      insuranceLimiter: new RateLimiterMemory(options),
      // A key over its limit is refused from memory: a flood does not reach Redis.
      inMemoryBlockOnConsumed: limit.points + 1,
    });
  }

  /** Counts a failure; whole seconds to wait (`Retry-After`) when it is one too many, else undefined. */
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

  /** Whole seconds to wait when this process was told that the key used up its failures, else undefined. Asks nobody. */
  knownBlockedFor(key: string): number | undefined {
    const waitMs = (this.#blocked.get(hashOf(key)) ?? 0) - Date.now();
    return waitMs > 0 ? secondsOf({ msBeforeNext: waitMs }) : undefined;
  }

  /** Whole seconds to wait when the key already used up its failures, else undefined; counts nothing. */
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
