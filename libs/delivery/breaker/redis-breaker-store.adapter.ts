import { createHash } from 'node:crypto';
import { Injectable, Optional } from '@nestjs/common';
import { globalKey, runScript } from '@relay/redis';
import { Redis } from 'ioredis';
import { Breaker, CLOSED, isForgettable, sound } from './breaker.js';
import { BreakerStore } from './breaker-store.port.js';
import { swapBreaker, proveOrigin } from './breaker.script.js';
import { PROOF_MS } from './origin-turns.js';

const BREAKERS = globalKey('breakers');
/**
 * Maximum of tries to store a breaker. A try fails only if another worker stored the breaker in between, so up to 50 workers
 * can change one breaker at the same time.
 */
const TRIES = 50;

/**
 * Stores all breakers in one Redis hash. A breaker has a field if it failed within the last minute, is open, or has a pause.
 */
export class RedisBreakerStore extends BreakerStore {
  constructor(private readonly redis: Redis) {
    super();
  }

  async change(key: string, now: number, change: (breaker: Breaker) => Breaker | undefined) {
    let found = (await this.redis.hget(BREAKERS, key)) ?? '';
    for (let tries = 0; tries < TRIES; tries += 1) {
      const breaker = read(found, now);
      const next = change(breaker);
      const wanted = next === undefined ? found : isForgettable(next, now) ? '' : JSON.stringify(next);
      if (next === undefined || wanted === found) return { breaker: next ?? breaker, isChanged: next !== undefined };
      const other = await runScript(this.redis, swapBreaker, [BREAKERS], [key, found, wanted]);
      if (typeof other !== 'string') return { breaker: next, isChanged: true };
      found = other;
    }
    throw new Error(`the breaker of ${key} changes without end`);
  }

  async all(): Promise<ReadonlyMap<string, Breaker>> {
    const now = Date.now();
    const fields = await this.redis.hgetall(BREAKERS);
    return new Map(Object.entries(fields).map(([key, text]) => [key, read(text, now)]));
  }
}

/**
 * Reads a stored breaker. A breaker in the format of a newer release is treated as closed; its next failure overwrites it.
 */
function read(text: string, now: number): Breaker {
  if (text === '') return CLOSED;
  const parsed = Breaker.safeParse(JSON.parse(text));
  return parsed.success ? sound(parsed.data, now) : CLOSED;
}

/** Sorted set: the hash of an origin, scored by the time of its last 2xx. Each takes about 90 bytes. */
const PROVEN = globalKey('proven');
/** Limits the set to 10 MB. An origin that is removed from it starts again with one attempt a second. */
const MOST_ORIGINS = 100_000;

/** Stores which origins have answered 2xx within the last 30 days. */
@Injectable()
export class RedisOriginProofs {
  constructor(
    private readonly redis: Redis,
    @Optional() private readonly mostOrigins: number = MOST_ORIGINS,
  ) {}

  /**
   * Stores that the origin has answered 2xx.
   * @throws if Redis cannot be reached
   */
  async prove(origin: string): Promise<void> {
    await runScript(this.redis, proveOrigin, [PROVEN], [hashOf(origin), this.mostOrigins]);
  }

  /**
   * Returns when each of these origins last answered 2xx. Origins that have not answered 2xx within 30 days are left out.
   * @throws if Redis cannot be reached
   */
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
