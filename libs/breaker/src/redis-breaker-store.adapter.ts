import { globalKey, runScript } from '@relay/redis';
import type { Redis } from 'ioredis';
import { Breaker, CLOSED, isForgettable, sound } from './breaker.js';
import { BreakerStore } from './breaker-store.port.js';
import { swapBreaker } from './breaker.script.js';

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
