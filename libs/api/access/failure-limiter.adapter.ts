import { createHash } from 'node:crypto';
import type { Redis } from 'ioredis';
import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible';
import { BoundedMemory } from '@relay/identity';
import { globalKey } from '@relay/redis';
import ipaddr from 'ipaddr.js';

export interface FailureLimit {
  /** Name of the counters, so that two limits never share one. */
  readonly name: string;
  /** Failures allowed in one window. */
  readonly points: number;
  readonly windowMs: number;
}

/** Returns a limiter over all processes; while Redis is away each process counts for itself. */
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
    // A key over its limit is refused from memory, so a flood does not reach Redis.
    inMemoryBlockOnConsumed: points + 1,
  });
}

/** Returns the hash under which Redis has a key: a caller may send its secret in place of its client id. */
export const hiddenKey = (key: string): string => createHash('sha256').update(key).digest('base64url');

/**
 * Counts failures by key, over all processes; while Redis is away each process counts for itself. The caller must choose keys,
 * such as client id and address, by which one client's failures never limit another client. Never rejects.
 */
export class FailureLimiter {
  readonly #limiter: RateLimiterRedis;
  /** Time of the next allowed failure, in epoch ms, by the hash of a key. */
  readonly #blocked = new BoundedMemory<number>(10_000);

  constructor(
    redis: Redis,
    readonly limit: FailureLimit,
  ) {
    this.#limiter = sharedLimiter(redis, 'failures', limit);
  }

  /** Counts a failure. Returns whole seconds to wait (`Retry-After`) beyond the limit; otherwise undefined. */
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

  /** Returns whole seconds to wait if this process knows that the key is beyond its limit. Reads memory only. */
  knownBlockedFor(key: string): number | undefined {
    const waitMs = (this.#blocked.get(hiddenKey(key)) ?? 0) - Date.now();
    return waitMs > 0 ? secondsOf({ msBeforeNext: waitMs }) : undefined;
  }

  /** Returns whole seconds to wait if the key is beyond its limit. Counts nothing. */
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
  /** Limit of the network as a multiple of the smallest network's limit. */
  readonly shares: number;
}

/** Removes the port, and with it the brackets of IPv6, that some gateways write into X-Forwarded-For. */
const withoutPort = (address: string): string =>
  /^\[(?<six>[^\]]*)\](?::\d+)?$/.exec(address)?.groups?.['six'] ?? address.replace(/^([\d.]+):\d+$/, '$1');

/**
 * Returns the networks that a sender cannot easily leave, the smallest first: an IPv4 address, or for IPv6 the /64 of a host's
 * addresses, and the /56 and /48 that one customer or site may hold (RFC 6177).
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
  /** Failures allowed in one window to all networks together; undefined means any number. */
  readonly everywhere?: number;
}

/**
 * Counts failures by the networks of an address, with larger limits for larger networks: the holder of an IPv6 /48 has 65,536
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

  /** Counts a failure, beyond a network's limit not for larger networks. Returns the exhausted limit, if any. */
  async fail(address: string): Promise<SpentLimit | undefined> {
    return this.#firstSpent(address, (limiter, key) => limiter.fail(key));
  }

  /** Returns the exhausted limit, if any, from memory if this process knows it. Counts nothing. */
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
