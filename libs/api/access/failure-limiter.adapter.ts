import { createHash } from 'node:crypto';
import type { Redis } from 'ioredis';
import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible';
import { BoundedMemory } from '@relay/identity';
import { globalKey } from '@relay/redis';
import ipaddr from 'ipaddr.js';

export interface FailureLimit {
  /** Name of the counters. Limits with different names never share a counter. */
  readonly name: string;
  /** Failures allowed in one window. */
  readonly points: number;
  readonly windowMs: number;
}

/** Returns a limiter that counts over all processes. While Redis does not answer, each process counts for itself. */
export function sharedLimiter(
  redis: Redis,
  kind: 'failures' | 'quota',
  { name, points, windowMs }: FailureLimit,
): RateLimiterRedis {
  const options = { points, duration: windowMs / 1_000 };
  return new RateLimiterRedis({
    ...options,
    storeClient: redis,
    keyPrefix: globalKey(kind, name),
    insuranceLimiter: new RateLimiterMemory(options),
    // A key that is over its limit is refused from memory, so that a flood of requests does not reach Redis.
    inMemoryBlockOnConsumed: points + 1,
  });
}

/**
 * Returns the hash of a key, which is stored in Redis in place of the key. The key may be a secret, because a caller may
 * send its secret as its client id by mistake.
 */
export const hiddenKey = (key: string): string => createHash('sha256').update(key).digest('base64url');

/**
 * Counts failures by key over all processes. While Redis does not answer, each process counts for itself. Callers of this
 * class must choose keys, such as a client id with an address, with which the failures of one client never limit another
 * client. Never rejects.
 */
export class FailureLimiter {
  readonly #limiter: RateLimiterRedis;
  /** Epoch milliseconds from which on a further failure is allowed, by the hash of a key. */
  readonly #blocked = new BoundedMemory<number>(10_000);

  constructor(
    redis: Redis,
    readonly limit: FailureLimit,
  ) {
    this.#limiter = sharedLimiter(redis, 'failures', limit);
  }

  /**
   * Counts a failure. Returns the whole seconds to wait (`Retry-After`) if the key is beyond its limit, otherwise undefined.
   */
  async fail(key: string): Promise<number | undefined> {
    const hash = hiddenKey(key);
    try {
      await this.#limiter.consume(hash);
      return undefined;
    } catch (refused) {
      if (!(refused instanceof RateLimiterRes)) return undefined;
      this.#blocked.set(hash, Date.now() + refused.msBeforeNext);
      return secondsOf(refused);
    }
  }

  /** Returns the whole seconds to wait if this process knows that the key is beyond its limit. Reads memory only. */
  knownBlockedFor(key: string): number | undefined {
    const waitMs = (this.#blocked.get(hiddenKey(key)) ?? 0) - Date.now();
    return waitMs > 0 ? secondsOf({ msBeforeNext: waitMs }) : undefined;
  }

  /** Returns the whole seconds to wait if the key is beyond its limit. Counts nothing. */
  async blockedFor(key: string): Promise<number | undefined> {
    const known = this.knownBlockedFor(key);
    if (known !== undefined) return known;
    const hash = hiddenKey(key);
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

const secondsOf = (state: Pick<RateLimiterRes, 'msBeforeNext'>): number =>
  Math.max(1, Math.ceil(state.msBeforeNext / 1_000));

interface Network {
  /** Key of the network. Networks of different sizes never have the same key. */
  readonly key: string;
  /** Limit of this network as a multiple of the limit of the smallest network. */
  readonly shares: number;
}

/** Removes the port that some gateways write into X-Forwarded-For, and the brackets of an IPv6 address with a port. */
const withoutPort = (address: string): string =>
  /^\[(?<six>[^\]]*)\](?::\d+)?$/.exec(address)?.groups?.['six'] ?? address.replace(/^([\d.]+):\d+$/, '$1');

/**
 * Returns the networks that a sender cannot easily leave, the smallest first. For IPv4, this is the address. For IPv6, these
 * are the /64 of one host, and the /56 and the /48 that one customer or site may have (RFC 6177).
 */
export function networksOf(sender: string): readonly [Network, ...Network[]] {
  const address = withoutPort(sender);
  if (!ipaddr.isValid(address)) return [{ key: 'unknown', shares: 1 }];
  const parsed = ipaddr.process(address);
  if (parsed.kind() === 'ipv4') return [{ key: parsed.toString(), shares: 1 }];
  const hex = Buffer.from(parsed.toByteArray()).toString('hex');
  return [
    { key: hex.slice(0, 16), shares: 1 },
    { key: hex.slice(0, 14), shares: 4 },
    { key: hex.slice(0, 12), shares: 16 },
  ];
}

/** A limit that is used up, and the seconds until it allows a failure again. */
export interface SpentLimit {
  readonly limit: FailureLimit;
  readonly waitS: number;
}

interface NetworkLimit extends FailureLimit {
  /** Failures allowed in one window to all networks together; undefined means that only the limits of networks apply. */
  readonly everywhere?: number;
}

/**
 * Counts failures by the networks of an address. Larger networks have larger limits. A limit of only the smallest networks
 * is not enough, because the holder of an IPv6 /48 has 65,536 of them.
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

  /**
   * Counts a failure for the networks of the address, the smallest first. Stops at the first limit that is used up, and
   * returns that limit.
   */
  async fail(address: string): Promise<SpentLimit | undefined> {
    return this.#firstSpent(address, (limiter, key) => limiter.fail(key));
  }

  /**
   * Returns the first limit that is used up, if any. Counts nothing. Asks Redis only if this process knows of no such limit.
   */
  async blockedFor(address: string): Promise<SpentLimit | undefined> {
    const known = await this.#firstSpent(address, (limiter, key) => limiter.knownBlockedFor(key));
    return known ?? this.#firstSpent(address, (limiter, key) => limiter.blockedFor(key));
  }

  /** Whether this process knows of a limit that is used up. Reads memory only. */
  isKnownBlocked(address: string): boolean {
    return this.#countsOf(address).some(({ limiter, key }) => limiter.knownBlockedFor(key) !== undefined);
  }

  async #firstSpent(
    address: string,
    waitOf: (limiter: FailureLimiter, key: string) => Promise<number | undefined> | number | undefined,
  ): Promise<SpentLimit | undefined> {
    for (const { limiter, key } of this.#countsOf(address)) {
      const waitS = await waitOf(limiter, key);
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
