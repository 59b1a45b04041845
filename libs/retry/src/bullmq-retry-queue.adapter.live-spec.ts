import { jest } from '@jest/globals';
import { type DeadLetter, StoredDeadLetter } from '@relay/dead-letters';
import {
  bullOptions,
  DEAD_LETTERS_QUEUE,
  DELIVERIES_QUEUE,
  type DeliveryJob,
  dueTimeOf,
  JobBodies,
  StoredJob,
} from '@relay/jobs';
import { onlyShard } from '@relay/redis';
import { describeRetryQueue, redisOfSpec } from '@relay/testing';
import { Queue } from 'bullmq';
import { BullmqRetryQueue } from './bullmq-retry-queue.adapter.js';

const { redis } = await redisOfSpec({ maxRetriesPerRequest: null });

describe('the queue in BullMQ', () => {
  async function held(queue: string): Promise<unknown[]> {
    const schema = queue === DELIVERIES_QUEUE ? StoredJob : StoredDeadLetter;
    const jobs = await new Queue(queue, bullOptions(onlyShard(redis))).getJobs(['waiting', 'delayed']);
    const restored = jobs.map(async ({ data }) => {
      const stored: Record<string, unknown> = schema.parse(data);
      const body = await new JobBodies(onlyShard(redis)).of(stored as StoredJob);
      delete stored['bodyRef'];
      return Object.assign(stored, { v: 1, body });
    });
    return Promise.all(restored);
  }

  describeRetryQueue('BullmqRetryQueue', async () => {
    await redis.flushall();
    return {
      queue: new BullmqRetryQueue(onlyShard(redis)),
      jobs: async () => (await held(DELIVERIES_QUEUE)) as DeliveryJob[],
      deadLetters: async () => (await held(DEAD_LETTERS_QUEUE)) as DeadLetter[],
    };
  });

  it('makes a delivery due at its time, also when the host’s clock is set while it is stored', async () => {
    await redis.flushall();
    const now = Date.now();
    const clock = jest.spyOn(Date, 'now').mockReturnValue(now - 7_200_000);
    const job: DeliveryJob = {
      v: 1,
      webhookId: 'aaaaaaaa-0000-4000-8000-000000000001',
      partnerId: 'p',
      envelopeId: '11111111-1111-4111-8111-111111111111',
      eventType: 'task.created',
      hash: '0123456789abcdef',
      series: 0,
      attempts: 0,
      acceptedAt: now,
      body: '{}',
    };
    const stored = new BullmqRetryQueue(onlyShard(redis)).add({ job, at: now + 1_000 });
    clock.mockRestore();
    await stored;
    const [, score] = await redis.zrange('{relay:0}:deliveries:delayed', '0', '-1', 'WITHSCORES');
    expect(dueTimeOf(String(score))).toBe(now + 1_000);
  });
});
