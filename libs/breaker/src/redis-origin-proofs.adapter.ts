import { createHash } from 'node:crypto';
import { globalKey, runScript } from '@relay/redis';
import type { Redis } from 'ioredis';
import { proveOrigin } from './origin-proofs.script.js';
import { PROOF_MS } from './origin-turns.js';

/** Sorted set, hash of an origin → when it last answered 2xx: about 90 bytes each. */
const PROVEN = globalKey('proven');
/** At most 10 MB. An evicted origin begins again with one attempt a second. */
const MOST_ORIGINS = 100_000;

/** The origins that answered 2xx within the last 30 days. */
export class RedisOriginProofs {
  constructor(
    private readonly redis: Redis,
    private readonly mostOrigins: number = MOST_ORIGINS,
  ) {}

  /** The origin has answered 2xx. @throws when the store is away */
  async prove(origin: string): Promise<void> {
    await runScript(this.redis, proveOrigin, [PROVEN], [hashOf(origin), this.mostOrigins]);
  }

  /** When these origins last answered 2xx, without those that have not. @throws when the store is away */
  async proven(origins: readonly string[]): Promise<ReadonlyMap<string, number>> {
    if (origins.length === 0) return new Map();
    const times = await this.redis.zmscore(PROVEN, ...origins.map(hashOf));
    const since = Date.now() - PROOF_MS;
    return new Map(
      origins.map((origin, index) => [origin, Number(times[index] ?? 0)] as const).filter(([, at]) => at > since),
    );
  }
}

const hashOf = (text: string): string => createHash('sha256').update(text).digest('base64url').slice(0, 22);
