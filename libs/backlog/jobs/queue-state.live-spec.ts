import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { DeadLetter } from '@relay/dead-letters';
import { connectRedis, shardsOn, type Shards } from '@relay/redis';
import { BullmqRetryQueue } from '@relay/retry';
import { startRedisServer, type RedisServer } from '@relay/testing';
import { Queue, Worker } from 'bullmq';
import type { Redis } from 'ioredis';
import type { DeliveryJob } from './delivery-job.js';
import { readQueues } from './queue-state.adapter.js';
import { bullOptions, DELIVERIES_QUEUE } from './queues.adapter.js';

const job = (envelopeId: string): DeliveryJob => ({
  v: 1,
  webhookId: 'w',
  partnerId: 'acme',
  envelopeId,
  eventType: 'task.created',
  hash: '0123456789abcdef',
  series: 0,
  attempts: 1,
  acceptedAt: 0,
  body: '{}',
});
const letter = (envelopeId: string): DeadLetter => ({ ...job(envelopeId), reason: 'gone', diedAt: 0 });

describe.each([1, 3])('the state of the queues of %i shards', (count) => {
  let server: RedisServer;
  let redis: Redis;
  let shards: Shards;
  let retries: BullmqRetryQueue;
  beforeAll(async () => {
    server = await startRedisServer();
    redis = connectRedis({ REDIS_URL: server.url(), REDIS_SENTINELS: [], REDIS_SENTINEL_NAME: '' }, 'queue', () => {});
    shards = shardsOn(redis, count);
    retries = new BullmqRetryQueue(shards);
  });
  afterAll(async () => {
    await retries.close();
    redis.disconnect();
    await server.stop();
  });
  const stateOf = async (queue: string, state: string, now = Date.now()) =>
    (await readQueues(shards, now)).find((found) => found.queue === queue && found.state === state);

  it('contains every queue and state, also empty ones', async () => {
    const states = await readQueues(shards, Date.now());
    expect(states).toHaveLength(8);
    expect(states.every(({ jobs, oldestS }) => jobs === 0 && oldestS === undefined)).toBe(true);
  });

  it('counts jobs and reports how long the first one has been due, made or running', async () => {
    const [start, due] = [Date.now(), randomUUID()];
    await retries.add({ job: job(randomUUID()), at: start + 60_000 });
    await retries.add({ job: job(randomUUID()), at: start + 120_000 });
    await retries.add({ job: job(due), at: 0 });
    await retries.addDeadLetter(letter(randomUUID()));
    expect(await stateOf('deliveries', 'delayed')).toMatchObject({ jobs: 2, oldestS: 0 });
    expect((await stateOf('deliveries', 'delayed', start + 90_000))?.oldestS).toBeCloseTo(30, 0);
    expect((await stateOf('deliveries', 'waiting', start + 50_000))?.oldestS).toBeCloseTo(50, 0);
    expect(await stateOf('dead-letters', 'waiting')).toMatchObject({ jobs: 1 });

    const worker = new Worker(DELIVERIES_QUEUE, undefined, { ...bullOptions(shards.of(due)), autorun: false });
    await worker.getNextJob('token');
    expect(await stateOf('deliveries', 'waiting')).toMatchObject({ jobs: 0 });
    expect((await stateOf('deliveries', 'active', Date.now() + 7_000))?.oldestS).toBeCloseTo(7, 0);
    await worker.close();
  });

  it('reports since when a due job waits in a paused queue', async () => {
    const [start, late] = [Date.now(), randomUUID()];
    const options = bullOptions(shards.of(late));
    const queue = new Queue(DELIVERIES_QUEUE, options);
    await queue.pause();
    const dueAt = start + 300;
    await retries.add({ job: job(late), at: dueAt });
    const worker = new Worker(DELIVERIES_QUEUE, async () => {}, options);
    const held = async () => (await stateOf('deliveries', 'waiting'))?.jobs === 1;
    while (!(await held())) await delay(20);
    expect(await stateOf('deliveries', 'delayed', dueAt)).toMatchObject({ oldestS: 0 });
    // As a scrape two and then four minutes later would see it.
    for (const seconds of [120, 240])
      expect((await stateOf('deliveries', 'waiting', dueAt + seconds * 1_000))?.oldestS).toBe(seconds);
    await queue.resume();
    while (await held()) await delay(20);
    expect((await stateOf('deliveries', 'waiting'))?.oldestS).toBeUndefined();
    await Promise.all([worker.close(), queue.close()]);
  });
});
