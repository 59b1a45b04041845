import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { TestingModule } from '@nestjs/testing';
import { deliveryId } from '@relay/delivery';
import { bullOptions, DEAD_LETTERS_QUEUE, DELIVERIES_QUEUE, DeliveryJob, dueTime } from '@relay/jobs';
import { isAskedToWait } from '@relay/events';
import { Keyring } from '@relay/keyring';
import { Publisher, PublishFailed } from '@relay/publishing';
import { onlyShard } from '@relay/redis';
import { RegistryView } from '@relay/registry';
import { RetryQueue } from '@relay/retry';
import type { MemoryPublisher } from '@relay/testing';
import { WebhookStore } from '@relay/webhooks';
import { Queue, type Job } from 'bullmq';
import type { Redis } from 'ioredis';
import { EnabledWebhooks } from './job-watches.js';
import { startSpecWorker, type SpecWorker } from '../spec-worker.js';
import { AttemptLog } from '../delivery/attempt-reports.js';
import { QueueConsumer } from './queue-workers.adapter.js';

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

async function until(what: string, condition: () => Promise<boolean> | boolean, withinMs = 15_000): Promise<void> {
  for (const from = Date.now(); !(await condition()); await delay(20))
    if (Date.now() - from > withinMs) throw new Error(`not within ${withinMs} ms: ${what}`);
}

describe('a queued attempt', () => {
  let worker: SpecWorker;
  let redis: Redis;
  let app: TestingModule;
  let endpoint: Server;
  let webhookId: string;
  let answer: Answer;
  const bodies: string[] = [];
  let aborted = 0;

  beforeAll(async () => {
    endpoint = createServer((request, response) => {
      const chunks: Buffer[] = [];
      response.on('close', () => (aborted += response.writableFinished ? 0 : 1));
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        bodies.push(Buffer.concat(chunks).toString());
        answer(request, response);
      });
    }).listen(0, '127.0.0.1');
    await once(endpoint, 'listening');
    const { port } = endpoint.address() as AddressInfo;
    const settings = { RETRY_SCHEDULE: '100ms,100ms', DELIVERY_TIMEOUT: '60s' };
    worker = await startSpecWorker(`http://127.0.0.1:${port}`, settings);
    ({ app, redis, webhookId } = worker);
    app.get(QueueConsumer).onApplicationBootstrap();
  });
  afterAll(async () => {
    await worker.close();
    endpoint.close();
    endpoint.closeAllConnections();
  });
  beforeEach(() => {
    bodies.length = 0;
    aborted = 0;
  });

  const aJob = (changes: Partial<DeliveryJob> = {}): DeliveryJob => ({
    v: 1,
    webhookId,
    partnerId: 'p1',
    envelopeId: randomUUID(),
    eventType: 'task.created',
    hash: 'aaaaaaaaaaaaaaaa',
    series: 0,
    attempts: 1,
    acceptedAt: Date.now(),
    body: '{}',
    ...changes,
  });
  const add = async (job: DeliveryJob): Promise<void> => app.get(RetryQueue).add({ job, at: Date.now() });
  const found = (queue: string, job: DeliveryJob): Promise<Job<Record<string, unknown>> | undefined> =>
    new Queue<Record<string, unknown>>(queue, bullOptions(onlyShard(redis))).getJob(deliveryId(job));
  const hasEnded = async (job: DeliveryJob): Promise<boolean> =>
    (await found(DELIVERIES_QUEUE, job))?.finishedOn !== undefined;
  const storedBodies = () => redis.keys('{relay:0}:body:*');

  it('sends a large body as it was on every attempt, and drops it when its job has ended', async () => {
    answer = (_, response) => response.writeHead(bodies.length < 2 ? 500 : 204).end();
    const job = aJob({ body: JSON.stringify({ text: 'é'.repeat(20_000) }), attempts: 0 });
    await add(job);
    expect(await storedBodies()).toHaveLength(1);
    await until('its job has ended', () => hasEnded(job));
    expect(bodies).toEqual([job.body, job.body]);
    await until('its body is gone', async () => (await storedBodies()).length === 0);
  });

  it('waits for the time that its endpoint asked for, and says so', async () => {
    answer = (_, response) =>
      bodies.length < 2 ? response.writeHead(429, { 'retry-after': '2' }).end() : response.writeHead(204).end();
    const job = aJob({ attempts: 0 });
    await add(job);
    const dueAt = (): Promise<number | undefined> => dueTime(onlyShard(redis), DELIVERIES_QUEUE, deliveryId(job));
    await until('it waits', async () => bodies.length === 1 && (await dueAt()) !== undefined);
    const waiting = await found(DELIVERIES_QUEUE, job);
    expect(isAskedToWait(DeliveryJob.shape.tries.parse(waiting?.data['tries']) ?? [], (await dueAt()) ?? 0)).toBe(true);
    await until('its job has ended', () => hasEnded(job));
  });

  it('keeps a large body with the dead letter, after its job has ended', async () => {
    answer = (_, response) => response.writeHead(500).end();
    const job = aJob({ body: JSON.stringify({ text: 'é'.repeat(20_000) }), attempts: 2, hasTurn: true });
    await add(job);
    await until('its job has ended', () => hasEnded(job));
    await until('one reference is left', async () => (await redis.hlen((await storedBodies())[0] ?? '')) === 2);
    const letter = (await found(DEAD_LETTERS_QUEUE, job))?.data;
    expect(letter).toMatchObject({ v: 2, reason: 'attempts_exhausted', attempts: 3 });
    // A turn is for one attempt.
    expect(letter).not.toHaveProperty('hasTurn');
    await redis.del(await storedBodies());
  });

  it('becomes a dead letter with that reason when Redis has lost the body', async () => {
    const job = aJob({ body: 'x'.repeat(5_000) });
    await app.get(RetryQueue).add({ job, at: Date.now() + 500 });
    await redis.del(await storedBodies());
    await until('its job has ended', () => hasEnded(job));
    expect((await found(DEAD_LETTERS_QUEUE, job))?.data).toMatchObject({
      reason: 'handling_failed',
      lastFailure: expect.stringMatching(/Redis has lost the body .* new id/),
    });
    expect(bodies).toEqual([]);
  });

  it('in a newer format is put back unchanged, for a newer worker', async () => {
    const job = { ...aJob(), v: 99, what: 'a later version wrote this' };
    const queue = new Queue(DELIVERIES_QUEUE, bullOptions(onlyShard(redis)));
    await queue.add('task.created', job, { jobId: deliveryId(job) });
    await until('it is put back', async () => (await queue.getJobState(deliveryId(job))) === 'delayed');
    expect((await queue.getJob(deliveryId(job)))?.data).toEqual(job);
    expect(bodies).toEqual([]);
    await queue.remove(deliveryId(job));
    await queue.close();
  });

  it('is dropped, and not repeated for ever, if only its id is left in the queue', async () => {
    answer = (_, response) => response.writeHead(204).end();
    const [left, job] = [deliveryId(aJob()), aJob()];
    await redis.lpush('{relay:0}:deliveries:wait', left);
    await add(job);
    await until('its job has ended', () => hasEnded(job));
    const queue = new Queue(DELIVERIES_QUEUE, bullOptions(onlyShard(redis)));
    await until('the id is gone', async () => (await queue.getJobState(left)) === 'unknown');
    expect(await redis.keys(`*${left}*`)).toEqual([]);
    expect(bodies).toEqual([job.body]);
    await queue.close();
  });

  it('is not made again when its job is added once more after it has ended, and is known to be there', async () => {
    answer = (_, response) => response.writeHead(204).end();
    const [job, next] = [aJob(), aJob()];
    await add(job);
    await until('its job has ended', () => hasEnded(job));
    await add(job);
    expect(await app.get(RetryQueue).existing([deliveryId(job)])).toEqual(new Set([deliveryId(job)]));
    await add(next);
    await until('the next one has ended', () => hasEnded(next));
    expect(bodies).toHaveLength(2);
  });

  it('that has ended and is still in the queue is dropped', async () => {
    answer = (_, response) => response.writeHead(204).end();
    const [job, next] = [aJob(), aJob()];
    await add(job);
    await until('its job has ended', () => hasEnded(job));
    await redis.lpush('{relay:0}:deliveries:wait', deliveryId(job));
    await add(next);
    await until('the next one has ended', () => hasEnded(next));
    expect(bodies).toHaveLength(2);
  });

  it('waits while attempts cannot be reported, so that no record is dropped, and goes on when they can', async () => {
    answer = (_, response) => response.writeHead(204).end();
    const publisher = app.get<Publisher, MemoryPublisher>(Publisher);
    publisher.failure = new PublishFailed('unavailable', 'Kafka is away');
    const job = aJob();
    for (let n = 0; n < 10_000; n += 1) app.get(AttemptLog).ended(job, 'cancelled', 'filling');
    await add(job);
    const queue = new Queue(DELIVERIES_QUEUE, bullOptions(onlyShard(redis)));
    await until('it is put back', async () => (await queue.getJobState(deliveryId(job))) === 'delayed');
    await delay(1_500);
    expect(bodies).toEqual([]);
    publisher.createTopic('relay.delivery-attempts');
    publisher.failure = undefined;
    await until('its job has ended', () => hasEnded(job));
    expect(bodies).toEqual([job.body]);
    await queue.close();
  });

  it('ends at once when its lock is lost, and leaves the job to the worker that has it', async () => {
    answer = () => undefined; // never
    const job = aJob();
    await add(job);
    await until('the attempt runs', () => bodies.length === 1);
    await redis.set(`{relay:0}:deliveries:${deliveryId(job)}:lock`, 'another worker');
    await until('the request is aborted', () => aborted === 1, 20_000);
    await delay(100);
    expect((await found(DELIVERIES_QUEUE, job))?.data).toEqual(job);
    expect(await redis.get(`{relay:0}:deliveries:${deliveryId(job)}:lock`)).toBe('another worker');
  });

  it('waits while its webhook is disabled by a 410, and is made at once when the webhook is enabled, unless it is due later', async () => {
    answer = (_, response) => response.writeHead(410).end();
    const [first, next, later] = [aJob(), aJob(), aJob()];
    await app.get(RetryQueue).add({ job: later, at: Date.now() + 3_600_000 });
    await add(first);
    await until('it is a dead letter', async () => (await found(DEAD_LETTERS_QUEUE, first)) !== undefined);
    const items = new WebhookStore(redis, app.get(RegistryView).of('webhook'), app.get(Keyring));
    const status = async () => (await items.find('p1', webhookId))?.details.status;
    await until('the webhook is disabled', async () => (await status()) === 'disabled');
    await add(next);
    const queue = new Queue(DELIVERIES_QUEUE, bullOptions(onlyShard(redis)));
    await until('it is put back', async () => (await queue.getJobState(deliveryId(next))) === 'delayed');
    expect(bodies).toHaveLength(1);
    answer = (_, response) => response.writeHead(204).end();
    await items.enable('p1', webhookId);
    app.get(EnabledWebhooks).onApplicationBootstrap();
    await until('it is delivered', () => hasEnded(next));
    expect(bodies).toHaveLength(2);
    expect(await queue.getJobState(deliveryId(later))).toBe('delayed');
    await until('nothing is held', async () => (await redis.keys('*held*')).length === 0);
    app.get(EnabledWebhooks).onModuleDestroy();
    await queue.close();
  });

  it('costs Redis next to nothing while it waits for an endpoint that never answers', async () => {
    const hanging: ServerResponse[] = [];
    answer = (_, response) => void hanging.push(response);
    const commands = async (): Promise<number> => {
      const calls = [...(await redis.info('commandstats')).matchAll(/calls=(\d+)/g)];
      return calls.reduce((sum, [, count]) => sum + Number(count), 0);
    };
    const within = async (ms: number): Promise<number> => {
      const before = await commands();
      await delay(ms);
      return (await commands()) - before;
    };
    const idle = await within(3_000);
    const jobs = Array.from({ length: 500 }, () => aJob());
    await Promise.all(jobs.map(add));
    const queue = new Queue(DELIVERIES_QUEUE, bullOptions(onlyShard(redis)));
    try {
      // Each has looked once, found no slot, and knows when to look again.
      const waiting = async (): Promise<boolean> => (await queue.getDelayedCount()) >= jobs.length - 64;
      await until('all but those that run wait for their time', waiting);
      const each = ((await within(9_000)) - 3 * idle) / jobs.length;
      process.stdout.write(`${each.toFixed(1)} commands for each delivery in its first 9 s of waiting\n`);
      // A look costs some 20: at first there are three in 9 s, later two a minute. One each 250 ms would be 700.
      expect(each).toBeLessThan(150);
      expect(hanging.length).toBeLessThanOrEqual(64);
    } finally {
      answer = (_, response) => response.writeHead(204).end(); // what begins from now on
      await queue.drain(true);
      for (const response of hanging) response.writeHead(204).end();
      await queue.close();
    }
  });
});
