// A Redis that has remembered ids for days: each generation of seen marks that is not over is one more place to look for an id.
import { randomBytes } from 'node:crypto';

const BASE = '{relay:0}:seen';
/** With a window of 72 h and the day and 5 h of a generation's own, so many are alive beside the newest. */
const OLDER = 4;
const BITS = 8;
const IDS_OF_A_BUCKET = 48;
const LEFT_S = 50 * 3_600;

/** Adds older generations once; the relay takes them for its own. */
export async function age({ redisPort }) {
  const { Redis } = await import('ioredis');
  const redis = new Redis(Number(redisPort));
  try {
    const known = await redis.hget(BASE, 'generations');
    if (known.split(' ').length > OLDER) return;
    const expires = Math.floor(Date.now() / 1_000) + LEFT_S;
    // Generations are told apart by their numbers alone; no new one comes near these.
    const numbers = Array.from({ length: OLDER }, (_, index) => 1_000_000 + index);
    for (const number of numbers) {
      const fill = redis.pipeline();
      for (let bucket = 0; bucket < 2 ** BITS; bucket += 1) {
        const key = `${BASE}:${number}:${bucket}`;
        fill.hset(key, ...Array.from({ length: IDS_OF_A_BUCKET }, () => [randomBytes(16), randomBytes(9)]).flat());
        fill.expireat(key, expires);
      }
      await fill.exec();
    }
    await redis.hset(
      BASE,
      'generations',
      [known, ...numbers.map((number) => `${number}:${BITS}:${expires}`)].join(' '),
    );
  } finally {
    redis.disconnect();
  }
}
