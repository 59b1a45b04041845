import { randomUUID } from 'node:crypto';
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
import { oneShard, type Shards, shardsOn } from '@relay/redis';
import { describeRetryQueue, redisOfSpec } from '@relay/testing';
import { Queue } from 'bullmq';
import { BullmqRetryQueue } from './bullmq-retry-queue.adapter.js';

const { redis } = await redisOfSpec({ maxRetriesPerRequest: null });

const aJob = (webhookId: string, envelopeId: string): DeliveryJob => ({
  v: 1,
  webhookId,
  partnerId: 'p',
  envelopeId,
  eventType: 'task.created',
  hash: '0123456789abcdef',
  series: 0,
  attempts: 0,
  acceptedAt: 1,
  body: '{}',
});

describe('the queue in BullMQ', () => {
  async function held(shards: Shards, queue: string): Promise<unknown[]> {
    const schema = queue === DELIVERIES_QUEUE ? StoredJob : StoredDeadLetter;
    const queues = shards.all.map((shard) => new Queue(queue, bullOptions(shard)).getJobs(['waiting', 'delayed']));
    const jobs = (await Promise.all(queues)).flat();
    const restored = jobs.map(async ({ data }) => {
      const stored: Record<string, unknown> = schema.parse(data);
      const body = await new JobBodies(shards).of(stored as StoredJob);
      delete stored['bodyRef'];
      return Object.assign(stored, { v: 1, body });
    });
    return Promise.all(restored);
  }

  for (const count of [1, 3]) {
    const shards = shardsOn(redis, count);
    describeRetryQueue(`BullmqRetryQueue over ${count} shards`, async () => {
      await redis.flushall();
      return {
        queue: new BullmqRetryQueue(shards),
        jobs: async () => (await held(shards, DELIVERIES_QUEUE)) as DeliveryJob[],
        deadLetters: async () => (await held(shards, DEAD_LETTERS_QUEUE)) as DeadLetter[],
      };
    });
  }

  it('keeps all of a delivery in the shard of its envelope, and so uses all shards', async () => {
    await redis.flushall();
    const shards = shardsOn(redis, 3);
    const queue = new BullmqRetryQueue(shards);
    const webhookId = randomUUID();
    const body = 'x'.repeat(5_000);
    const ids = Array.from({ length: 60 }, () => randomUUID());
    await Promise.all(
      ids.map((envelopeId) => queue.add({ job: { ...aJob(webhookId, envelopeId), body }, at: Date.now() + 60_000 })),
    );
    const keys = await redis.keys('*');
    for (const id of ids) {
      const own = keys.filter((key) => key.includes(id));
      expect(own).toHaveLength(3); // its job, its body, and the index by envelope
      for (const key of own) expect(key.startsWith(shards.of(id).tag)).toBe(true);
    }
    expect(new Set(keys.map((key) => key.split(':', 2).join(':')))).toEqual(new Set(shards.all.map(({ tag }) => tag)));
    await queue.close();
  });

  it('makes a delivery due at its time, also when the host’s clock is set while it is stored', async () => {
    await redis.flushall();
    const now = Date.now();
    const clock = jest.spyOn(Date, 'now').mockReturnValue(now - 7_200_000);
    const job = { ...aJob(randomUUID(), randomUUID()), acceptedAt: now };
    const stored = new BullmqRetryQueue(oneShard(redis)).add({ job, at: now + 1_000 });
    clock.mockRestore();
    await stored;
    const [, score] = await redis.zrange('{relay:0}:deliveries:delayed', '0', '-1', 'WITHSCORES');
    expect(dueTimeOf(String(score))).toBe(now + 1_000);
  });
});
