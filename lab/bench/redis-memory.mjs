// Bytes of Redis for each seen id and each waiting delivery: the built adapters on a Redis of its own, used_memory before and after.
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { number } from '../../scripts/bench/tables.mjs';
import { libs } from '../../scripts/lib/libs.mjs';
import { root } from '../../scripts/lib/paths.mjs';
import { choosePort } from '../../scripts/lib/ports.mjs';
import { end, until } from '../../scripts/lib/process.mjs';
import * as redis from '../../scripts/lib/redis.mjs';

export const builtLib = (name) =>
  import(pathToFileURL(libs.get(`@relay/${name}`).replace(root, join(root, 'dist')).replace(/ts$/, 'js')));

/** Gives the task a client and `used`, which reads the bytes in use. */
async function withOwnRedis(folder, signal, task) {
  const { Redis } = await import('ioredis');
  mkdirSync(folder, { recursive: true });
  const port = await choosePort({}, 'REDIS_PORT');
  const server = await redis.launch(folder, { port });
  const client = new Redis(port, { lazyConnect: true, maxRetriesPerRequest: null, retryStrategy: () => 100 });
  client.on('error', () => undefined);
  try {
    await until(() => redis.answers({ port }), 20_000, signal);
    await client.connect();
    await client.config('SET', 'appendonly', 'no'); // only memory is measured
    const used = async () => Number(/used_memory:(\d+)/.exec(await client.info('memory'))[1]);
    return await task(client, used);
  } finally {
    client.disconnect();
    await end(server.pid, 5_000);
  }
}

const LEVELS = [155_000, 1_000_000, 3_000_000];
const DAYS = 2; // the first starts from nothing and grows, the second is like any other
const BATCH = 1_000;
const WINDOW_MS = 72 * 3_600_000;
const SEEN = '{relay:0}:seen';

/** A table: bytes an id for each level, over both days and over the second alone. */
export async function seenIds(folder, scale, signal) {
  const rows = [['ids a day', 'bytes an id, first two days', 'bytes an id, second day']];
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
    const each = [(second - before) / (DAYS * perDay), (second - first) / perDay];
    return [number(perDay, 0), ...each.map((bytes) => number(bytes, 1))];
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
    await client.hincrby(SEEN, 'openedAt', -seconds);
  }
}

const CASES = [
  [1_024, 1],
  [1_024, 10],
  [102_400, 1],
  [102_400, 10],
];
const DELIVERIES = 2_000;

/** A table: bytes a waiting delivery, by the size of its envelope and how many webhooks wait for it. */
export async function waitingJobs(folder, signal) {
  const { BullmqRetryQueue } = await builtLib('retry');
  const { oneShard } = await builtLib('redis');
  const rows = [['bytes of the envelope', 'webhooks it waits for', 'bytes a waiting delivery']];
  for (const [bytes, webhooks] of CASES) {
    const bytesEach = await withOwnRedis(join(folder, `waiting-${bytes}-${webhooks}`), signal, async (client, used) => {
      const queue = new BullmqRetryQueue(oneShard(client));
      const ids = Array.from({ length: webhooks }, () => randomUUID());
      const add = (envelopeId) =>
        Promise.all(
          ids.map((webhookId) => queue.add({ job: aJob(webhookId, envelopeId, bytes), at: Date.now() + 3_600_000 })),
        );
      await add(randomUUID()); // the queue's own keys
      const before = await used();
      for (let done = 0; done < DELIVERIES; done += webhooks) await add(randomUUID());
      const taken = (await used()) - before;
      await queue.close();
      return taken / DELIVERIES;
    });
    rows.push([bytes, webhooks, bytesEach].map((value) => number(value, 0)));
  }
  return rows;
}

const aJob = (webhookId, envelopeId, bytes) => ({
  v: 1,
  webhookId,
  partnerId: `partner_${'x'.repeat(22)}`,
  envelopeId,
  eventType: 'task.created',
  hash: 'aaaaaaaaaaaaaaaa',
  series: 0,
  attempts: 1,
  acceptedAt: Date.now(),
  lastFailure: 'answered 503',
  body: 'x'.repeat(bytes),
});
