import { randomUUID } from 'node:crypto';
import { type DeadLetter, DeadLetterIndex } from '@relay/dead-letters';
import {
  bullOptions,
  DEAD_LETTERS_QUEUE,
  DELIVERIES_QUEUE,
  type DeliveryJob,
  envelopeIdOf,
  WaitingJobs,
} from '@relay/jobs';
import { shardsOn } from '@relay/redis';
import { redisOfSpec } from '@relay/testing';
import { Worker } from 'bullmq';
import { BullmqRetryQueue } from './bullmq-retry-queue.adapter.js';
import { PendingDeliveries } from './pending-deliveries.adapter.js';

const { redis } = await redisOfSpec({ maxRetriesPerRequest: null });

describe.each([1, 3])('pending deliveries over %i shards', (count) => {
  const shards = shardsOn(redis, count);
  const queue = new BullmqRetryQueue(shards);
  const jobs = new PendingDeliveries(shards, shards);
  afterAll(() => Promise.all([queue.close(), jobs.close()]));
  beforeEach(() => redis.flushall());

  const index = new DeadLetterIndex(shards);
  const [first, second] = [randomUUID(), randomUUID()];
  const aJob = (webhookId = first, envelopeId: string = randomUUID()): DeliveryJob => ({
    v: 1,
    webhookId,
    partnerId: 'p',
    envelopeId,
    eventType: 'task.created',
    hash: '0123456789abcdef',
    series: 0,
    attempts: 1,
    acceptedAt: 1,
    tries: [{ at: 2, durationMs: 3, status: 500, detail: 'answered 500' }],
    body: '{}',
  });
  const aLetter = (diedAt: number, webhookId = first): DeadLetter => ({
    ...aJob(webhookId),
    reason: 'attempts_exhausted',
    diedAt,
  });
  const later = (): number => Date.now() + 3_600_000;

  it('are found by webhook and by envelope, with due times and attempts', async () => {
    const [job, other] = [aJob(), aJob(second)];
    const at = later();
    await Promise.all([queue.add({ job, at }), queue.add({ job: other, at })]);
    const found = await jobs.waiting(first);
    expect(found).toEqual([expect.objectContaining({ job: expect.objectContaining(job) })]);
    expect(Math.abs((found[0]?.dueAt ?? 0) - at)).toBeLessThan(5_000);
    expect(await jobs.ofEnvelope(job.envelopeId, new Set([first, second]))).toEqual(found);
    expect(await jobs.ofEnvelope(job.envelopeId, new Set([second]))).toEqual([]);
    expect(await jobs.ofEnvelope(randomUUID(), new Set([first]))).toEqual([]);
  });

  it('that are dead letters are listed newest first in pages, also when many died at once', async () => {
    const letters = [
      ...Array.from({ length: 5 }, () => aLetter(7_000)),
      aLetter(9_000),
      aLetter(5_000),
      aLetter(8_000, second),
    ];
    const now = Date.now() - 3_600_000;
    for (const letter of letters) await queue.addDeadLetter({ ...letter, diedAt: letter.diedAt + now });
    const all = await jobs.dead(first, {}, 100);
    expect(all).toHaveLength(7);
    const seen: string[] = [];
    for (let page = await jobs.dead(first, {}, 2); page.length > 0;) {
      seen.push(...page.map(({ id }) => id));
      const last = page.at(-1);
      page = await jobs.dead(first, { before: { at: last?.diedAt ?? 0, id: last?.id ?? '' } }, 2);
    }
    expect(seen).toEqual(all.map(({ id }) => id));
    const newest = all[0]?.diedAt ?? 0;
    expect(await jobs.dead(first, { until: newest }, 100)).toHaveLength(6);
    expect(await jobs.dead(first, { since: newest }, 100)).toHaveLength(1);
    // Two of the newest went without the index being told, as by a crash: others stand in their place.
    for (const { id } of all.slice(0, 2)) await redis.del(shards.of(envelopeIdOf(id)).key(DEAD_LETTERS_QUEUE, id));
    expect((await jobs.dead(first, {}, 3)).map(({ id }) => id)).toEqual(all.slice(2, 5).map(({ id }) => id));
    expect(await index.count(first)).toBe(5);
    // One that died just now is about to be stored.
    await index.add({ ...aLetter(0), diedAt: Date.now() });
    expect(await jobs.dead(first, {}, 100)).toHaveLength(5);
    expect(await index.count(first)).toBe(6);
  });

  it('keep the time of a death whose add is repeated, and show another acceptance’s death with its own', async () => {
    const died = Date.now() - 60_000;
    const letter = aLetter(died);
    const again = { ...letter, acceptedAt: 2, diedAt: died + 20_000 };
    for (const each of [letter, { ...letter, diedAt: died + 10_000 }, again]) await queue.addDeadLetter(each);
    const found = await jobs.dead(first, {}, 10);
    expect(found.map(({ diedAt }) => diedAt)).toEqual([died + 20_000, died]);
    expect(found.map((each) => each.letter?.diedAt)).toEqual([died + 20_000, died]);
  });

  it('exclude ended ones: completed jobs, purged dead letters, and jobs whose dead letter is stored', async () => {
    const letter = { ...aLetter(0), diedAt: Date.now() };
    const { reason: _reason, diedAt: _diedAt, ...job } = letter;
    await queue.add({ job, at: later() });
    await queue.addDeadLetter(letter);
    const both = await jobs.ofEnvelope(letter.envelopeId, new Set([first]));
    expect(both.map(({ letter: dead }) => dead?.reason)).toEqual(['attempts_exhausted']);
    await new WaitingJobs(shards).ended(job);
    expect(await jobs.waiting(first)).toEqual([]);
    expect(await jobs.ofEnvelope(letter.envelopeId, new Set([first]))).toHaveLength(1);
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(await queue.purge(1)).toBe(1);
    expect(await jobs.dead(first, {}, 10)).toEqual([]);
    expect(await redis.keys('*unsettled*')).toEqual([]);
    expect(await redis.keys('*dead:*')).toEqual([]);
  });

  it('become due early once, unless they run or have ended', async () => {
    const job = aJob();
    await queue.add({ job, at: later() });
    const [waits] = await jobs.waiting(first);
    const id = waits?.id ?? '';
    expect(await jobs.hasten(id)).toBe(true);
    let release = (): void => {};
    const held = new Promise<void>((resolve) => (release = resolve));
    let begin: (id: string) => void = () => {};
    const begun = new Promise<string>((resolve) => (begin = resolve));
    const process = async ({ id: running = '' }: { id?: string }): Promise<void> => {
      begin(running);
      await held;
    };
    const worker = new Worker(DELIVERIES_QUEUE, process, bullOptions(shards.of(job.envelopeId)));
    expect(await begun).toBe(id);
    expect(await jobs.hasten(id)).toBe(false);
    expect(await jobs.hasten(id.replace(/.$/, '9'))).toBe(false);
    expect((await jobs.waiting(first))[0]?.dueAt).toBeUndefined();
    release();
    await worker.close();
  });
});
