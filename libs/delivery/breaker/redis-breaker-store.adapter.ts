import { createHash } from 'node:crypto';
import { Injectable, Optional } from '@nestjs/common';
import { globalKey, runScript } from '@relay/redis';
import { Redis } from 'ioredis';
import { Breaker, CLOSED, isForgettable, sound } from './breaker.js';
import { BreakerStore } from './breaker-store.port.js';
import { swapBreaker, proveOrigin } from './breaker.script.js';
import { PROOF_MS } from './origin-turns.js';

const BREAKERS = globalKey('breakers');
/** Workers that may report on one breaker at the same time; at each try one of them succeeds. */
const TRIES = 50;

/** One hash, with a field for each breaker that failed within a minute, is open or asked for a pause. */
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

/** A breaker of a newer format counts as closed, and is overwritten with the next failure. */
function read(text: string, now: number): Breaker {
  if (text === '') return CLOSED;
  const parsed = Breaker.safeParse(JSON.parse(text));
  return parsed.success ? sound(parsed.data, now) : CLOSED;
}

/** Sorted set, hash of an origin → when it last answered 2xx: about 90 bytes each. */
const PROVEN = globalKey('proven');
/** At most 10 MB. An evicted origin begins again with one attempt a second. */
const MOST_ORIGINS = 100_000;

/** The origins that answered 2xx within the last 30 days. */
@Injectable()
export class RedisOriginProofs {
  constructor(
    private readonly redis: Redis,
    @Optional() private readonly mostOrigins: number = MOST_ORIGINS,
  ) {}

  /**
   * Stores that the origin has answered 2xx.
   * @throws when the store is away
   */
  async prove(origin: string): Promise<void> {
    await runScript(this.redis, proveOrigin, [PROVEN], [hashOf(origin), this.mostOrigins]);
  }

  /**
   * Returns when these origins last answered 2xx, without those that have not.
   * @throws when the store is away
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
