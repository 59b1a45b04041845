import { randomUUID } from 'node:crypto';
import { deliveryId } from '@relay/delivery';
import type { DeliveryJob } from '@relay/jobs';
import { shardsOn } from '@relay/redis';
import { BullmqRetryQueue } from '@relay/retry';
import { idsOfEach, redisOfSpec } from '@relay/testing';
import { jobsOfEnvelope } from './envelope-jobs.adapter.js';

const { redis } = await redisOfSpec({ maxRetriesPerRequest: null });

describe.each([1, 3])('the jobs of an envelope of one of %i shards', (count) => {
  const shards = shardsOn(redis, count);
  const queue = new BullmqRetryQueue(shards);
  afterAll(() => queue.close());
  beforeEach(() => redis.flushall());
  const aJob = (envelopeId: string): DeliveryJob => ({
    v: 1,
    webhookId: randomUUID(),
    partnerId: 'p',
    envelopeId,
    eventType: 'task.created',
    hash: '0123456789abcdef',
    series: 0,
    attempts: 1,
    acceptedAt: 1,
    body: '{}',
  });

  it('are found in both queues, whichever shard they are in', async () => {
    const envelopes = idsOfEach(shards, 8);
    const [at, diedAt] = [Date.now() + 3_600_000, Date.now()];
    const stored = new Map<string, string[]>();
    for (const id of envelopes) {
      const [waiting, dead] = [aJob(id), aJob(id)];
      await queue.add({ job: waiting, at });
      await queue.addDeadLetter({ ...dead, reason: 'gone', diedAt });
      stored.set(id, [deliveryId(waiting), deliveryId(dead)]);
    }
    for (const id of envelopes) {
      const found = await jobsOfEnvelope(shards, id);
      expect(found.map((job) => job.deliveryId)).toEqual(stored.get(id));
      expect(found).toMatchObject([
        { queue: 'deliveries', isRunning: false, dueAt: expect.any(Number) },
        { queue: 'dead-letters', reason: 'gone', diedAt },
      ]);
    }
    expect(await jobsOfEnvelope(shards, randomUUID())).toEqual([]);
  });
});
