import { describeRetryQueue, startRedisServer, type RedisServer } from '@relay/testing';
import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import { bullOptions, BullmqRetryQueue, DEAD_LETTERS_QUEUE, DELIVERIES_QUEUE } from './bullmq-retry-queue.adapter.js';
import type { DeadLetter } from './dead-letter.js';
import type { DeliveryJob } from './delivery-job.js';
import { JobBodies } from './job-bodies.adapter.js';
import { StoredJob, StoredLetter } from './stored-job.js';

describe('the queue in BullMQ', () => {
  let server: RedisServer;
  let redis: Redis;

  beforeAll(async () => {
    server = await startRedisServer();
    redis = new Redis(server.url(), { maxRetriesPerRequest: null });
  });
  afterAll(async () => {
    redis.disconnect();
    await server.stop();
  });

  async function held(queue: string): Promise<unknown[]> {
    const schema = queue === DELIVERIES_QUEUE ? StoredJob : StoredLetter;
    const jobs = await new Queue(queue, bullOptions(redis)).getJobs(['waiting', 'delayed']);
    const restored = jobs.map(async ({ data }) => {
      const stored: Record<string, unknown> = schema.parse(data);
      const body = await new JobBodies(redis).of(stored as StoredJob);
      delete stored['bodyRef'];
      return Object.assign(stored, { v: 1, body });
    });
    return Promise.all(restored);
  }

  describeRetryQueue('BullmqRetryQueue', async () => {
    await redis.flushall();
    return {
      queue: new BullmqRetryQueue(redis),
      jobs: async () => (await held(DELIVERIES_QUEUE)) as DeliveryJob[],
      deadLetters: async () => (await held(DEAD_LETTERS_QUEUE)) as DeadLetter[],
    };
  });
});
