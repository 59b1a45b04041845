import type { Redis } from 'ioredis';
import { FailureLimiter, type FailureLimit } from './failure-limiter.adapter.js';
import { networksOf } from './network.js';

/** An exhausted limit, and the seconds until it is restored. */
export interface SpentLimit {
  readonly limit: FailureLimit;
  readonly waitS: number;
}

export interface NetworkLimit extends FailureLimit {
  /** Failures allowed in one window to all networks together; undefined: any number. */
  readonly everywhere?: number;
}

/**
 * Counts failures by the networks of an address, with larger limits for larger networks: the holder of a /48 of IPv6 has 65,536
 * networks of the smallest size.
 */
export class NetworkFailures {
  readonly #limiters = new Map<number, FailureLimiter>();
  readonly #everywhere: FailureLimiter | undefined;

  constructor(
    private readonly redis: Redis,
    private readonly limit: NetworkLimit,
  ) {
    const { name, everywhere: points, windowMs } = limit;
    if (points !== undefined) this.#everywhere = new FailureLimiter(redis, { name: `${name}-all`, points, windowMs });
  }

  /** Counts a failure. Returns the exhausted limit, if any; a failure beyond the limit of a network counts for no larger one. */
  async fail(address: string): Promise<SpentLimit | undefined> {
    for (const { limiter, key } of this.#countsOf(address)) {
      const waitS = await limiter.fail(key);
      if (waitS !== undefined) return { limit: limiter.limit, waitS };
    }
    return undefined;
  }

  /** The exhausted limit, if any; counts nothing. A known one comes from memory. */
  async blockedFor(address: string): Promise<SpentLimit | undefined> {
    const known = this.#knownBlocked(address);
    if (known !== undefined) return known;
    for (const { limiter, key } of this.#countsOf(address)) {
      const waitS = await limiter.blockedFor(key);
      if (waitS !== undefined) return { limit: limiter.limit, waitS };
    }
    return undefined;
  }

  /** Whether this process knows of an exhausted limit. Reads memory only. */
  isKnownBlocked(address: string): boolean {
    return this.#knownBlocked(address) !== undefined;
  }

  #knownBlocked(address: string): SpentLimit | undefined {
    for (const { limiter, key } of this.#countsOf(address)) {
      const waitS = limiter.knownBlockedFor(key);
      if (waitS !== undefined) return { limit: limiter.limit, waitS };
    }
    return undefined;
  }

  #countsOf(address: string): { limiter: FailureLimiter; key: string }[] {
    const counts = networksOf(address).map(({ key, shares }) => ({ limiter: this.#limiterOf(shares), key }));
    return this.#everywhere === undefined ? counts : [...counts, { limiter: this.#everywhere, key: 'all' }];
  }

  #limiterOf(shares: number): FailureLimiter {
    const { name, points, windowMs } = this.limit;
    const known = this.#limiters.get(shares);
    if (known !== undefined) return known;
    const limiter = new FailureLimiter(this.redis, { name, points: points * shares, windowMs });
    this.#limiters.set(shares, limiter);
    return limiter;
  }
}
