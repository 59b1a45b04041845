import { randomUUID } from 'node:crypto';
import { deliveryId } from '@relay/delivery';
import { shardsOn } from '@relay/redis';
import { BullmqRetryQueue } from '@relay/retry';
import { redisOfSpec } from '@relay/testing';
import type { DeliveryJob } from './delivery-job.js';
import { DisabledWebhookJobs, MisdatedJobs, UnprovenJobs } from './held-jobs.adapter.js';
import { DELIVERIES_QUEUE, dueTime } from './queues.adapter.js';

const { redis } = await redisOfSpec({ maxRetriesPerRequest: null });
const HOUR_MS = 3_600_000;
const ORIGIN = 'https://silent.example';

describe.each([1, 3])('held jobs of %i shards', (count) => {
  const shards = shardsOn(redis, count);
  const queue = new BullmqRetryQueue(shards);
  const [disabled, unproven] = [new DisabledWebhookJobs(shards), new UnprovenJobs(shards)];
  const misdated = new MisdatedJobs(shards);
  const webhookId = randomUUID();
  const jobs = Array.from({ length: 60 }, (): DeliveryJob => ({
    v: 1,
    webhookId,
    partnerId: 'p',
    envelopeId: randomUUID(),
    eventType: 'task.created',
    hash: '0123456789abcdef',
    series: 0,
    attempts: 1,
    acceptedAt: 1,
    body: '{}',
  }));
  const later = Date.now() + HOUR_MS;
  beforeEach(async () => {
    await redis.flushall();
    await Promise.all(jobs.map((job) => queue.add({ job, at: later })));
  });
  afterAll(() => Promise.all([queue.close(), disabled.close(), unproven.close(), misdated.close()]));
  const dueEarly = async (): Promise<number> => {
    const times = await Promise.all(
      jobs.map((job) => dueTime(shards.of(job.envelopeId), DELIVERIES_QUEUE, deliveryId(job))),
    );
    return times.filter((at) => at !== undefined && at < later - HOUR_MS / 2).length;
  };

  it('are due soon, in every shard, once their webhook is enabled', async () => {
    await Promise.all(jobs.map((job) => disabled.hold(webhookId, deliveryId(job))));
    expect(await disabled.webhooks()).toEqual([webhookId]);
    await disabled.letGo(webhookId);
    expect([await dueEarly(), await disabled.webhooks(), await redis.keys('*held*')]).toEqual([60, [], []]);
  });

  it('are due soon, in every shard, once their origin has answered 2xx', async () => {
    await Promise.all(jobs.map((job) => unproven.hold(ORIGIN, deliveryId(job), later)));
    for (const job of jobs.slice(0, 10)) await unproven.drop(ORIGIN, deliveryId(job));
    expect(await unproven.origins()).toEqual([ORIGIN]);
    await unproven.letGo(ORIGIN);
    expect([await dueEarly(), await unproven.origins(), await redis.keys('*unproven*')]).toEqual([50, [], []]);
  });

  it('are due soon, in every shard, when they were put off for longer than may be', async () => {
    expect(await misdated.mend(later)).toBe(0);
    expect(await dueEarly()).toBe(0);
    expect(await misdated.mend(later - 1)).toBe(60);
    expect([await dueEarly(), await misdated.mend(later - 1)]).toEqual([60, 0]);
  });
});
