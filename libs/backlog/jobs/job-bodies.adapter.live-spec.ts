import { randomUUID } from 'node:crypto';
import { deliveryId } from '@relay/delivery';
import { oneShard } from '@relay/redis';
import { BullmqRetryQueue } from '@relay/retry';
import { redisOfSpec } from '@relay/testing';
import { jest } from '@jest/globals';
import { type Aside, type DeliveryJob, INLINE_BYTES } from './delivery-job.js';
import { JobBodies } from './job-bodies.adapter.js';

const { redis } = await redisOfSpec({ maxRetriesPerRequest: null });

const envelopeId = randomUUID();
const KEY = `{relay:0}:body:${envelopeId}_aaaaaaaaaaaaaaaa`;
const aJob = (body: string): DeliveryJob => ({
  v: 1,
  webhookId: randomUUID(),
  partnerId: 'p1',
  envelopeId,
  eventType: 'task.created',
  hash: 'aaaaaaaaaaaaaaaa',
  series: 0,
  attempts: 0,
  acceptedAt: Date.now(),
  body,
});
const LARGE = 'x'.repeat(INLINE_BYTES + 1);

describe('bodies beside the queue', () => {
  const bodies = new JobBodies(oneShard(redis));
  beforeEach(() => redis.flushall());

  const asides = async (...jobs: DeliveryJob[]) => (await bodies.putAside(jobs)) as Aside<DeliveryJob>[];

  it.each([
    ['of 4 KiB stays in its job', 'x'.repeat(INLINE_BYTES), 1],
    ['of more is stored beside it', LARGE, 2],
    ['is measured in bytes, not in characters', 'é'.repeat(INLINE_BYTES / 2 + 1), 2],
  ])('a body %s', async (_, body, v) => {
    const [stored] = await bodies.putAside([aJob(body)]);
    expect(stored?.v).toBe(v);
    expect(await redis.exists(KEY)).toBe(v - 1);
    expect(stored && (await bodies.of(stored))).toBe(body);
  });

  it('is stored once for all jobs of its envelope, and removed with the last of them', async () => {
    const stored = await asides(aJob(LARGE), aJob(LARGE), aJob(LARGE));
    expect(await redis.keys('*')).toEqual([KEY]);
    expect(await redis.hlen(KEY)).toBe(4);
    for (const job of stored) {
      expect(await bodies.of(job)).toBe(LARGE);
      await bodies.release(job);
    }
    expect(await redis.exists(KEY)).toBe(0);
  });

  it('stays for a job that was added again while the reference of its predecessor was dropped', async () => {
    const job = aJob(LARGE);
    const [before] = await asides(job);
    const [again] = await asides(job);
    if (before !== undefined) await bodies.release(before);
    if (before !== undefined) await bodies.release(before);
    expect(again === undefined ? undefined : await bodies.of(again)).toBe(LARGE);
  });

  it('expires after 31 days when a crash left it without a job', async () => {
    await asides(aJob(LARGE));
    expect(await redis.ttl(KEY)).toBeGreaterThan(31 * 86_400 - 60);
  });

  it('is stored before its job: without its body no job is added', async () => {
    await redis.set(KEY, 'no hash');
    const queue = new BullmqRetryQueue(oneShard(redis));
    await expect(queue.add({ job: aJob(LARGE), at: Date.now() })).rejects.toThrow('WRONGTYPE');
    expect(await redis.keys('{relay:0}:deliveries:*-*')).toEqual([]);
    await queue.close();
  });

  it.each([
    ['whole', () => redis.del(KEY)],
    ['for this job only', async () => redis.hdel(KEY, (await redis.hkeys(KEY)).find((name) => name !== 'text') ?? '')],
  ])('is written again when Redis has lost it %s before the job was added, as in a failover', async (_, lose) => {
    const queue = new BullmqRetryQueue(oneShard(redis));
    const putAside = jest.spyOn(JobBodies.prototype, 'putAside').mockImplementationOnce(async (jobs) => {
      const stored = await bodies.putAside(jobs);
      await lose();
      return stored;
    });
    const job = aJob(LARGE);
    await queue.add({ job, at: Date.now() + 60_000 });
    putAside.mockRestore();
    const data = await redis.hget(`{relay:0}:deliveries:${deliveryId(job)}`, 'data');
    const { bodyRef } = JSON.parse(data ?? '{}') as { bodyRef: string };
    expect(await redis.hgetall(KEY)).toEqual({ text: LARGE, [bodyRef]: '' });
    await queue.close();
  });

  const refsOf = async (): Promise<string[]> => (await redis.hkeys(KEY)).filter((name) => name !== 'text');
  const storedOf = async (job: DeliveryJob): Promise<Aside<DeliveryJob>> => {
    const data = await redis.hget(`{relay:0}:deliveries:${deliveryId(job)}`, 'data');
    return JSON.parse(data ?? '{}') as Aside<DeliveryJob>;
  };

  it('has one reference of each job and dead letter, however often it is added', async () => {
    const queue = new BullmqRetryQueue(oneShard(redis));
    const [job, letter] = [aJob(LARGE), { ...aJob(LARGE), reason: 'gone' as const, diedAt: Date.now() }];
    for (let n = 0; n < 3; n += 1) {
      await queue.add({ job, at: Date.now() + 60_000 });
      await queue.addDeadLetter(letter);
    }
    await Promise.all([1, 2, 3].map(() => queue.add({ job, at: Date.now() + 60_000 })));
    expect(await refsOf()).toHaveLength(2);
    const stored = await storedOf(job);
    expect(await refsOf()).toContain(stored.bodyRef);
    await bodies.release(stored);
    expect(await refsOf()).toHaveLength(1);
    await queue.close();
  });

  it.each([
    ['ended', (key: string) => redis.hset(key, 'finishedOn', '1')],
    ['been removed', (key: string) => redis.del(key)],
  ])('has no reference of a job that is added again when it has %s', async (_, end) => {
    const queue = new BullmqRetryQueue(oneShard(redis));
    const job = aJob(LARGE);
    await queue.add({ job, at: Date.now() + 60_000 });
    const stored = await storedOf(job);
    const [again] = await asides(job);
    await end(`{relay:0}:deliveries:${deliveryId(job)}`);
    await bodies.keep([job], again === undefined ? [] : [again], () => `{relay:0}:deliveries:${deliveryId(job)}`);
    expect(await refsOf()).toEqual([stored.bodyRef]);
    await bodies.release(stored);
    expect(await redis.exists(KEY)).toBe(0);
    await queue.close();
  });

  it('comes back for a waiting job that is added again once Redis has lost it, under the reference of that job', async () => {
    const queue = new BullmqRetryQueue(oneShard(redis));
    const job = aJob(LARGE);
    await queue.add({ job, at: Date.now() + 60_000 });
    await redis.del(KEY);
    await queue.add({ job, at: Date.now() + 60_000 });
    const stored = await storedOf(job);
    expect(await redis.hgetall(KEY)).toEqual({ text: LARGE, [stored.bodyRef]: '' });
    await queue.close();
  });

  it('is not kept for a job that has ended meanwhile', async () => {
    const job = aJob(LARGE);
    const stored = await asides(job);
    await redis.del(KEY);
    for (const fields of [undefined, { finishedOn: '1' }]) {
      if (fields !== undefined) await redis.hset('job', fields);
      await bodies.keep([job], stored, () => 'job');
      expect(await redis.exists(KEY)).toBe(0);
    }
  });

  it('makes a waiting delivery to each of ten webhooks take little more than its tenth of the body', async () => {
    const queue = new BullmqRetryQueue(oneShard(redis));
    await queue.add({ job: aJob(''), at: Date.now() + 60_000 });
    // Of the keys: what Redis uses in all has the buffers of connections in it.
    const used = async (): Promise<number> => {
      const sizes = (await redis.keys('*')).map((key) => redis.memory('USAGE', key, 'SAMPLES', 0));
      return (await Promise.all(sizes)).reduce<number>((sum, size) => sum + (size ?? 0), 0);
    };
    const before = await used();
    const jobs = Array.from({ length: 10 }, () => aJob('x'.repeat(100 * 1_024)));
    await Promise.all(jobs.map((job) => queue.add({ job, at: Date.now() + 60_000 })));
    expect(((await used()) - before) / 10).toBeLessThan(17 * 1_024);
    await queue.close();
  });
});
