import { randomUUID } from 'node:crypto';
import { ShardAttemptCounts, ShardHistory } from '@relay/history';
import type { DeliveryJob } from '@relay/jobs';
import { Publisher } from '@relay/publishing';
import { oneShard, onlyShard } from '@relay/redis';
import { BullmqRetryQueue } from '@relay/retry';
import type { MemoryPublisher } from '@relay/testing';
import { Redis } from 'ioredis';
import { startWebhooks, type Answer, type Partner, type Webhooks } from '../webhooks/spec-webhooks.js';
import { HistoryModule } from './history.module.js';

const HOUR = 3_600_000;

let relay: Webhooks;
let owner: Partner;
let queueRedis: Redis;
let queue: BullmqRetryQueue;
let publisher: MemoryPublisher;
beforeEach(async () => {
  relay = await startWebhooks({ WEBHOOKS_PER_ORIGIN: '1000' }, [HistoryModule]);
  publisher = relay.spec.app.get<Publisher, MemoryPublisher>(Publisher);
  publisher.createTopic('relay.dead-letters');
  owner = await relay.aPartner('owner');
  queueRedis = new Redis(relay.server.url(), { maxRetriesPerRequest: null });
  queue = new BullmqRetryQueue(oneShard(queueRedis));
});
afterEach(async () => {
  await queue.close();
  queueRedis.disconnect();
  await relay.stop();
});

const member = ({ json }: Answer, name: string): unknown => Reflect.get(json as object, name);
const ask = (method: string, path: string, body?: object, { token } = owner): Promise<Answer> =>
  relay.ask(method, path, { token, ...(body && { body }) });
let registered = 0;
const register = async (eventType: string, { token } = owner): Promise<string> => {
  const body = { eventType, endPointUrl: `https://hooks.example.com/${(registered += 1)}`, apiKey: 'key-1' };
  return String(member(await relay.ask('POST', '/webhooks', { token, body }), 'id'));
};
const aJob = (webhookId: string, eventType = 'task.created', at = Date.now()): DeliveryJob => ({
  v: 1,
  webhookId,
  partnerId: owner.clientId,
  envelopeId: randomUUID(),
  eventType,
  hash: '0123456789abcdef',
  series: 0,
  attempts: 1,
  acceptedAt: at,
  tries: [{ at, durationMs: 3, status: 500, detail: 'answered 500', answer: 'oops' }],
  body: `{ "id": "x", "text": "ü" }`,
});
const wait = (job: DeliveryJob): Promise<void> => queue.add({ job, at: Date.now() + HOUR });
const die = (job: DeliveryJob): Promise<void> =>
  queue.addDeadLetter({ ...job, reason: 'attempts_exhausted', diedAt: job.acceptedAt });
const history = () => new ShardHistory(onlyShard(relay.redis), HOUR);
const aLine = (webhookId: string, envelopeId: string = randomUUID()) => ({
  webhookId,
  envelopeId,
  acceptedAt: Date.now(),
  series: 0,
  attempts: [{ at: Date.now(), durationMs: 41, status: 204 }],
});

describe('GET /deliveries', () => {
  it('lists those of all webhooks, of some, or of those of an event type', async () => {
    const [tasks, plans] = [await register('task.created'), await register('plan.created')];
    const [waiting, dead] = [aJob(tasks), aJob(plans, 'plan.created')];
    await wait(waiting);
    await die(dead);
    const line = aLine(plans);
    await history().add([line]);
    const ids = async (query: string): Promise<unknown> =>
      (member(await ask('GET', `/deliveries${query}`), 'deliveries') as { envelopeId: string }[]).map(
        ({ envelopeId }) => envelopeId,
      );
    const all = [line, dead, waiting].map(({ envelopeId }) => envelopeId);
    expect(await ids('')).toEqual(expect.arrayContaining(all));
    expect(await ids(`?webhookId=${tasks.toUpperCase()},${plans}`)).toHaveLength(3);
    expect(await ids(`?webhookId=${tasks}`)).toEqual([waiting.envelopeId]);
    expect(await ids('?eventType=plan.created&status=dead')).toEqual([dead.envelopeId]);
    const page = await ask('GET', '/deliveries?limit=1&eventType=plan.created');
    const next = /^<(.*)>; rel="next"$/.exec(String(page.headers['link']))?.[1] ?? '';
    expect(await ids(next.replace('/deliveries', ''))).toEqual([dead.envelopeId]);
  });

  it('names what is wrong in a query, also a parameter that it does not know', async () => {
    const { status, json } = await ask('GET', '/deliveries?webhookId=1&httpStatus=9&error=!&until=now&webhookIds=2');
    expect(status).toBe(400);
    for (const name of ['webhookId', 'httpStatus', 'error', 'until', 'webhookIds'])
      expect(JSON.stringify(json)).toContain(name);
  });

  it('counts as one for every hundred webhooks, and tells the quota that binds first', async () => {
    const many = await relay.aPartner('many');
    await Promise.all(Array.from({ length: 101 }, () => register('task.created', many)));
    const told: unknown[] = [];
    for (const path of ['/deliveries', '/deliveries?limit=50', '/webhooks/status', `/deliveries/${randomUUID()}`]) {
      const { headers } = await ask('GET', path, undefined, many);
      expect(headers['ratelimit-policy']).toBe('"history";q=600;w=60, "partner";q=60000;w=60');
      told.push(/^"history";r=(\d+);t=\d+, "partner";r=\d+;t=\d+$/.exec(String(headers['ratelimit']))?.[1]);
    }
    expect(told).toEqual(['598', '596', '595', '593']);
  });
});

describe('GET /deliveries/counts', () => {
  it('sums the attempts of a partner’s webhooks by the hour, and knows no webhook of another', async () => {
    const partner = await relay.aPartner('counted');
    const [tasks, plans] = [await register('task.created', partner), await register('plan.created', partner)];
    const counts = new ShardAttemptCounts(onlyShard(relay.redis), HOUR);
    await counts.add([
      { webhookId: tasks, failed: 1, delivered: 3 },
      { webhookId: plans, failed: 0, delivered: 2 },
    ]);
    const newest = async (query: string): Promise<unknown> =>
      (member(await ask('GET', `/deliveries/counts${query}`, undefined, partner), 'hours') as object[]).at(-1);
    const at = new Date(Math.floor(Date.now() / HOUR) * HOUR).toISOString();
    expect(await newest('')).toEqual({ at, delivered: 5, failedAttempts: 1 });
    expect(await newest(`?webhookId=${tasks}&since=${at}`)).toEqual({ at, delivered: 3, failedAttempts: 1 });
    expect(await newest('?eventType=plan.created')).toEqual({ at, delivered: 2, failedAttempts: 0 });
    expect((await ask('GET', `/deliveries/counts?webhookId=${tasks}`)).status).toBe(404);
    const { status, json } = await ask('GET', '/deliveries/counts?since=yesterday&limit=1');
    expect([status, JSON.stringify(json)]).toEqual([400, expect.stringMatching(/since.*limit/)]);
  });
});

describe('POST /deliveries/retry', () => {
  const told = () =>
    publisher
      .read('relay.operations')
      .map(({ value }) => JSON.parse(String(value)) as { event: string; deliveries?: string[] })
      .filter(({ event }) => event === 'delivery.retried');

  it('counts in a dry run, then retries a hundred at once until none is left, and tells of each', async () => {
    const [tasks, plans] = [await register('task.created'), await register('plan.created')];
    const now = Date.now();
    const meant = Array.from({ length: 130 }, (_, n) => aJob(tasks, 'task.created', now - n));
    await Promise.all([...meant.map(die), die(aJob(plans, 'plan.created'))]);
    const selection = { status: 'dead', eventType: 'task.created', httpStatus: '5xx' };
    expect(await ask('POST', '/deliveries/retry', { ...selection, dryRun: true })).toMatchObject({
      status: 202,
      json: { matched: 130, retried: 0, refused: [], cursor: null },
    });
    expect(told()).toEqual([]);
    const first = await ask('POST', '/deliveries/retry', selection);
    expect(first).toMatchObject({ status: 202, json: { matched: 100, retried: 100, refused: [] } });
    const { json } = await ask('POST', '/deliveries/retry', { ...selection, cursor: member(first, 'cursor') });
    expect(json).toEqual({ matched: 30, retried: 30, refused: [], cursor: null, until: expect.any(String) });
    expect(told().map(({ deliveries }) => deliveries?.length)).toEqual([100, 30]);
    const left = await ask('GET', '/deliveries?status=dead');
    expect(member(left, 'deliveries')).toMatchObject([{ webhookId: plans }]);
    expect(member(await ask('GET', `/deliveries?status=waiting&limit=200`), 'deliveries')).toHaveLength(130);
  });

  it('makes waiting deliveries due, but none to a disabled webhook', async () => {
    const [active, disabled] = [await register('task.created'), await register('task.created')];
    const jobs = [aJob(active), aJob(disabled)];
    await Promise.all(jobs.map(wait));
    expect((await ask('POST', `/webhooks/${disabled}/disable`)).status).toBe(200);
    const { json } = await ask('POST', '/deliveries/retry', { status: 'waiting' });
    const refused = [
      { envelopeId: jobs[1]?.envelopeId, webhookId: disabled, why: expect.stringContaining('disabled') },
    ];
    expect(json).toEqual({ matched: 2, retried: 1, refused, cursor: null, until: expect.any(String) });
    const due = await ask('GET', `/deliveries?webhookId=${active}`);
    expect(member(due, 'deliveries')).toMatchObject([{ status: 'waiting', nextAttemptAt: null, waitsFor: 'endpoint' }]);
  });

  it('changes nothing beyond the quota, for a stranger, or by a filter that is written wrong', async () => {
    const webhook = await register('task.created');
    await Promise.all(Array.from({ length: 51 }, () => die(aJob(webhook))));
    const stranger = await relay.aPartner('stranger');
    const selection = { status: 'dead', webhookIds: [webhook] };
    expect((await ask('POST', '/deliveries/retry', selection, stranger)).status).toBe(404);
    expect((await ask('POST', '/deliveries/retry', { status: 'dead' }, stranger)).json).toMatchObject({ matched: 0 });
    const wrong = await ask('POST', '/deliveries/retry', { webhookIDs: [webhook], since: 'now' });
    expect(wrong.status).toBe(400);
    for (const pointer of ['/status', '/since', '/webhookIDs'])
      expect(member(wrong, 'errors')).toContainEqual(expect.objectContaining({ pointer }));
    // Of 600 points six are left: two for the requests, and two too few for the retries.
    for (let n = 0; n < 594; n += 1) await ask('GET', `/deliveries/${randomUUID()}`);
    expect((await ask('POST', '/deliveries/retry', { ...selection, dryRun: true })).json).toMatchObject({
      matched: 51,
    });
    expect((await ask('POST', '/deliveries/retry', selection)).status).toBe(429);
    expect(told()).toEqual([]);
  });
});

describe('GET /webhooks/status', () => {
  it('tells how the deliveries of each webhook stand, in pages', async () => {
    const [busy, idle] = [await register('task.created'), await register('plan.created')];
    const job = aJob(busy, 'task.created', Date.now() - 5_000);
    await wait(job);
    await wait(aJob(busy));
    await die(aJob(busy));
    const line = aLine(busy);
    await history().add([aLine(busy), aLine(busy), line]);
    const last = { at: Date.now(), durationMs: 3, error: 'timeout', detail: 'no answer' };
    const good = { at: Date.now() - 1, durationMs: 3, status: 200, answer: 'fine', answerHeaders: { server: 'a' } };
    await new ShardAttemptCounts(onlyShard(relay.redis), HOUR).add([
      { webhookId: busy, failed: 1, delivered: 3, last, good },
    ]);
    await ask('POST', `/webhooks/${idle}/disable`);
    const page = await ask('GET', '/webhooks/status?limit=1');
    expect(page.json).toEqual({
      webhooks: [
        {
          id: busy,
          eventType: 'task.created',
          endPointUrl: expect.stringContaining('https://hooks.example.com/'),
          endPointName: null,
          status: 'active',
          disabledReason: null,
          waiting: 2,
          oldestWaitingAt: new Date(job.acceptedAt).toISOString(),
          dead: 1,
          delivered: 3,
          failedAttempts: 1,
          failureRate: 0.25,
          lastDelivered: { envelopeId: line.envelopeId, at: expect.any(String), status: 204, durationMs: 41 },
          lastGood: { ...good, at: new Date(good.at).toISOString() },
          lastFailure: { ...last, at: new Date(last.at).toISOString() },
        },
      ],
    });
    const next = /^<(.*)>; rel="next"$/.exec(String(page.headers['link']))?.[1] ?? '';
    const rest = await ask('GET', next);
    expect(rest.json).toMatchObject({
      webhooks: [
        {
          id: idle,
          status: 'disabled',
          disabledReason: 'partner',
          waiting: 0,
          oldestWaitingAt: null,
          delivered: 0,
          failureRate: null,
          lastDelivered: null,
          lastGood: null,
          lastFailure: null,
        },
      ],
    });
    expect(rest.headers['link']).toBeUndefined();
  });
});

describe('GET /deliveries/{envelopeId}/payload', () => {
  it('has the bytes of an envelope that waits or is dead without Kafka, for its partner only', async () => {
    const webhook = await register('task.created');
    const stranger = await relay.aPartner('stranger');
    await register('task.created', stranger);
    const large = { ...aJob(webhook), body: `{"text": "${'ü'.repeat(5_000)}"}` };
    for (const [store, job] of [
      [wait, aJob(webhook)] as const,
      [die, aJob(webhook)] as const,
      [wait, large] as const,
    ]) {
      await store(job);
      const path = `/deliveries/${job.envelopeId}/payload`;
      const { status, headers, text } = await ask('GET', path);
      expect([status, headers['content-type'], text]).toEqual([200, 'application/json', job.body]);
      const [theirs, none] = await Promise.all(
        [path, `/deliveries/${randomUUID()}/payload`].map((each) => ask('GET', each, undefined, stranger)),
      );
      expect([theirs?.status, member(theirs as Answer, 'detail')]).toEqual([404, member(none as Answer, 'detail')]);
    }
  });

  it('answers 503 without Kafka if the envelope is delivered or Redis has lost its body', async () => {
    const webhook = await register('task.created');
    const line = aLine(webhook);
    await history().add([line]);
    const lost = { ...aJob(webhook), body: `{"text": "${'x'.repeat(5_000)}"}` };
    await wait(lost);
    await relay.redis.del(await relay.redis.keys('*:body:*'));
    expect((await ask('GET', `/deliveries/${lost.envelopeId}/payload`)).status).toBe(503);
    const { status, json, headers } = await ask('GET', `/deliveries/${line.envelopeId}/payload`);
    expect([status, json, headers['retry-after']]).toMatchObject([
      503,
      { detail: expect.stringContaining('Kafka') },
      '5',
    ]);
    expect((await ask('GET', '/deliveries/nonsense/payload')).status).toBe(404);
  });
});
