import { createHash } from 'node:crypto';
import type { Redis } from 'ioredis';
import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible';
import { BoundedMemory } from '@relay/identity';
import { globalKey } from '@relay/redis';
import ipaddr from 'ipaddr.js';

export interface FailureLimit {
  /** Names the counters, so that two limits never share one. */
  readonly name: string;
  /** Failures allowed in one window. */
  readonly points: number;
  readonly windowMs: number;
}

/** A limit over all processes; while Redis is away each process counts for itself. */
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
    // A key over its limit is refused from memory: a flood does not reach Redis.
    inMemoryBlockOnConsumed: points + 1,
  });
}

/** A key as Redis has it: a caller may send its secret in place of its client id. */
export const hiddenKey = (key: string): string => createHash('sha256').update(key).digest('base64url');

/**
 * Counts failures by key, over all processes; by this process alone while Redis is away. The key, such as client id and address,
 * must keep one client's failures from limiting another. Never rejects.
 */
export class FailureLimiter {
  readonly #limiter: RateLimiterRedis;
  /** Hash of a key to the time of its next allowed failure. */
  readonly #blocked = new BoundedMemory<number>(10_000);

  constructor(
    redis: Redis,
    readonly limit: FailureLimit,
  ) {
    this.#limiter = sharedLimiter(redis, 'failures', limit);
  }

  /** Counts a failure. Returns whole seconds to wait (`Retry-After`) beyond the limit, else undefined. */
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

  /** Whole seconds to wait when this process knows that the key is beyond its limit, else undefined. Reads memory only. */
  knownBlockedFor(key: string): number | undefined {
    const waitMs = (this.#blocked.get(hiddenKey(key)) ?? 0) - Date.now();
    return waitMs > 0 ? secondsOf({ msBeforeNext: waitMs }) : undefined;
  }

  /** Whole seconds to wait when the key is beyond its limit, else undefined. Counts nothing. */
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
  /** Unique over networks of all sizes. */
  readonly key: string;
  /** Its limit as a multiple of that of the smallest network. */
  readonly shares: number;
}

/** Some gateways write X-Forwarded-For with the port of each address; an IPv6 address has brackets then. */
const withoutPort = (address: string): string =>
  /^\[(?<six>[^\]]*)\](?::\d+)?$/.exec(address)?.groups?.['six'] ?? address.replace(/^([\d.]+):\d+$/, '$1');

/**
 * The networks that one sender can hardly change, the smallest first: an IPv4 address; of IPv6 the /64 of a host's addresses, and
 * the /56 and /48 that one customer or site may hold (RFC 6177).
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

/** An exhausted limit, and the seconds until it is restored. */
export interface SpentLimit {
  readonly limit: FailureLimit;
  readonly waitS: number;
}

interface NetworkLimit extends FailureLimit {
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
    return this.#firstSpent(address, (limiter, key) => limiter.fail(key));
  }

  /** The exhausted limit, if any; counts nothing. A known one comes from memory. */
  async blockedFor(address: string): Promise<SpentLimit | undefined> {
    const known = await this.#firstSpent(address, (limiter, key) => limiter.knownBlockedFor(key));
    return known ?? this.#firstSpent(address, (limiter, key) => limiter.blockedFor(key));
  }

  /** Whether this process knows of an exhausted limit. Reads memory only. */
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
