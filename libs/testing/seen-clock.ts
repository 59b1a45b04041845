import type { Redis } from 'ioredis';

const BASE = '{relay:0}:seen';

/**
 * Sets Redis' clock forward (or back) as far as seen marks can tell, by moving every time that is stored with them:
 * when the newest generation was opened, and when each generation and its buckets expire.
 */
export async function moveSeenClock(redis: Redis, seconds: number): Promise<void> {
  const [generations, openedAt] = await redis.hmget(BASE, 'generations', 'openedAt');
  if (generations == null) return;
  const moved = generations.replaceAll(/\d+(?= |$)/g, (expires) => String(Number(expires) - seconds));
  await redis.hset(BASE, { generations: moved, openedAt: Number(openedAt) - seconds });
  const keys = await redis.keys(`${BASE}:*`);
  const times = await Promise.all(keys.map((key) => redis.expiretime(key)));
  const moves = redis.pipeline();
  for (const [index, key] of keys.entries()) moves.expireat(key, Math.max(1, (times[index] ?? 0) - seconds));
  await moves.exec();
}

/** The live generations, newest first: `[number, bits, seconds until it expires]`. */
export async function seenGenerations(redis: Redis): Promise<[number: number, bits: number, left: number][]> {
  const [now] = await redis.time();
  const text = (await redis.hget(BASE, 'generations')) ?? '';
  return text
    .split(' ')
    .filter((part) => part !== '')
    .map((part) => {
      const [number = 0, bits = 0, expires = 0] = part.split(':').map(Number);
      return [number, bits, expires - Number(now)];
    });
}
