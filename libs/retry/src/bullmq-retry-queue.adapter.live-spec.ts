import { describeRetryQueue, startRedisServer, type RedisServer } from '@relay/testing';
import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import { bullOptions, BullmqRetryQueue, DEAD_LETTERS_QUEUE, DELIVERIES_QUEUE } from './bullmq-retry-queue.adapter.js';
import type { DeadLetter } from './dead-letter.js';
import type { DeliveryJob } from './delivery-job.js';

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

  async function held<T>(queue: string): Promise<T[]> {
    const jobs = await new Queue<T>(queue, bullOptions(redis)).getJobs(['waiting', 'delayed']);
    return jobs.map((job) => job.data);
  }

  describeRetryQueue('BullmqRetryQueue', async () => {
    await redis.flushall();
    return {
      queue: new BullmqRetryQueue(redis),
      jobs: () => held<DeliveryJob>(DELIVERIES_QUEUE),
      deadLetters: () => held<DeadLetter>(DEAD_LETTERS_QUEUE),
    };
  });
});
