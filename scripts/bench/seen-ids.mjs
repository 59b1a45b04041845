// Bytes of Redis for each seen id, at several rates: the built store's own adapter on a Redis of its own, used_memory before and after.
import { randomBytes, randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { builtLib, withOwnRedis } from './own-redis.mjs';

export const LEVELS = [155_000, 1_000_000, 3_000_000];
const DAYS = 2; // the first starts from nothing and grows, the second is like any other
const BATCH = 1_000;
const WINDOW_MS = 72 * 3_600_000;
const BASE = '{relay:0}:seen';

/** Per level: bytes an id, over both days and over the second alone. */
export async function seenIds(folder, scale, signal) {
  const rows = [];
  for (const level of LEVELS) rows.push(await atLevel(join(folder, `seen-${level}`), Math.ceil(level * scale), signal));
  return rows;
}

async function atLevel(folder, perDay, signal) {
  const { RedisSeenStore } = await builtLib('dedupe');
  const { oneShard } = await builtLib('redis');
  return withOwnRedis(folder, signal, async (client, used) => {
    const store = new RedisSeenStore(oneShard(client), WINDOW_MS);
    const readings = [await used()];
    for (let day = 0; day < DAYS; day += 1) {
      await spendDay(client, store, perDay, signal);
      readings.push(await used());
    }
    const [before, first, second] = readings;
    return { perDay, bytesPerId: (second - before) / (DAYS * perDay), bytesPerIdLater: (second - first) / perDay };
  });
}

/** A day's ids, evenly over the day: time passes by moving the stored opening of the newest generation into the past. */
async function spendDay(client, store, perDay, signal) {
  let passed = 0;
  for (let done = 0; done < perDay; done += BATCH) {
    signal.throwIfAborted();
    const count = Math.min(BATCH, perDay - done);
    const entry = () => ({ id: randomUUID(), hash: randomBytes(8).toString('hex') });
    await store.markPublished(Array.from({ length: count }, entry));
    const seconds = Math.floor(((done + count) / perDay) * 86_400) - passed;
    passed += seconds;
    await client.hincrby(BASE, 'openedAt', -seconds);
  }
}
