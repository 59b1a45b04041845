import { DELIVERIES_QUEUE, dueTimeOf } from '@relay/jobs';
import { App } from '../support/app.js';
import { anEnvelope, Client } from '../support/client.js';
import { deadLettersIn } from '../support/dead-letters.js';
import { HostClock } from '../support/host-clock.js';
import { Relay } from '../support/relay.js';
import { until } from '../support/until.js';

const HOUR_MS = 3_600_000;
/** Fewer failures than open a breaker. */
const ENVELOPES = 8;

/** What the test has started, the latest last. */
const started: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of started.splice(0).toReversed()) await end();
});

async function startRelay(...args: Parameters<typeof Relay.start>): Promise<Relay> {
  const relay = await Relay.start(...args);
  started.push(() => relay.close());
  return relay;
}

async function startApp(role: 'ingress' | 'worker', { stack }: Relay): Promise<App> {
  const app = await App.start(role, stack.env);
  started.push(() => app.stop());
  return app;
}

/** A relay of which one process has a host of its own. */
async function withClock(role: 'ingress' | 'worker', settings: Record<string, string>) {
  const clock = new HostClock();
  started.push(async () => clock.remove());
  const starts = role === 'worker' ? ([clock.start] as const) : ([undefined, clock.start] as const);
  const relay = await startRelay(settings, undefined, ...starts);
  const [partner, source] = [await relay.partner(), await relay.source()];
  return { clock, relay, partner, source };
}

const aheadOf = async (app: App): Promise<number> =>
  Number(/^relay_clock_ahead_seconds (\S+)$/m.exec(await app.metrics())?.[1]);

/** When the deliveries that wait are due, epoch milliseconds. */
async function dueTimes({ stack }: Relay): Promise<number[]> {
  const all = stack.shards.all.map((shard) =>
    shard.redis.zrange(shard.key(DELIVERIES_QUEUE, 'delayed'), '0', '-1', 'WITHSCORES'),
  );
  return (await Promise.all(all)).flat().flatMap((score, index) => (index % 2 === 1 ? [dueTimeOf(score)] : []));
}

describe.each([25, 97, -97])('a worker whose clock goes %i h ahead, beside one whose clock is right', (hours) => {
  it('puts nothing off, gives nothing up, ends, and takes no work until its clock is right again', async () => {
    const { clock, relay, partner, source } = await withClock('worker', { RETRY_SCHEDULE: '10s,1s' });
    const { receiver, worker } = relay;
    await partner.register({ eventType: 'task.created', endPointUrl: receiver.url('/tasks'), apiKey: 'key' });
    // The first 2xx makes the origin one that gets as many attempts as it can take.
    expect(await source.post(anEnvelope())).toMatchObject({ status: 202 });
    await until('the first one is delivered', () => receiver.delivered('/tasks').length === 1);
    // Each fails once, and the clock is set while the attempts run.
    const tried = new Set<unknown>();
    receiver.decide('/tasks', ({ 'webhook-id': id }) => {
      if (tried.has(id)) return { status: 204 };
      tried.add(id);
      return { status: 404, delayMs: 1_000 };
    });
    const posted = await Promise.all(Array.from({ length: ENVELOPES }, () => source.post(anEnvelope())));
    expect(new Set(posted.map(({ status }) => status))).toEqual(new Set([202]));
    await until('all are attempted', () => tried.size === ENVELOPES);
    clock.set(hours);
    const due = await until('all of them wait', async () => {
      const times = await dueTimes(relay);
      return times.length === ENVELOPES && times;
    });
    expect(Math.max(...due) - Date.now()).toBeLessThan(13_000);
    expect(Math.min(...due) - Date.now()).toBeGreaterThan(0);
    await startApp('worker', relay);
    const delivered = (): number => new Set(receiver.delivered('/tasks')).size;
    await until('all are delivered', () => delivered() === ENVELOPES + 1, { seen: delivered });
    expect(await deadLettersIn(relay.stack.shards)).toEqual([]);
    expect(receiver.at('/tasks')).toHaveLength(2 * ENVELOPES + 1);

    await until('it has ended', () => worker.hasEndedByItself);
    expect(worker.log.join('\n')).toContain('"event":"clock.off"');
    const before = worker.log.length;
    worker.start();
    const fault = 'the clock of this host is';
    await until('it says why it waits', async () => (await worker.health())?.faults['clock']?.startsWith(fault));
    expect(Math.abs((await aheadOf(worker)) - hours * 3_600)).toBeLessThan(2);
    expect(worker.log.slice(before).join('\n')).not.toContain('"log.assigned"');
    clock.set(0);
    await worker.ready();
    expect(worker.log.join('\n')).toContain('"event":"clock.right"');
  });
});

describe.each([25, -97])('an ingress whose clock is %i h ahead', (hours) => {
  it('issues and takes tokens as others do, accepts by the right time, and makes a delivery due when that is asked', async () => {
    const { clock, relay, partner, source } = await withClock('ingress', { RETRY_SCHEDULE: '2h' });
    clock.set(hours);
    await relay.ingress.stop();
    relay.ingress.start();
    await relay.ingress.ready();
    const other = await startApp('ingress', relay);
    for (const [from, to] of [
      [relay.ingress, other],
      [other, relay.ingress],
    ] as const) {
      const token = await new Client(from.url, partner.clientId, partner.clientSecret).token();
      const answer = await fetch(`${to.url}/webhooks`, { headers: { authorization: `Bearer ${token}` } });
      expect(answer.status).toBe(200);
      expect(Math.abs(Date.parse(answer.headers.get('date') ?? '') - Date.now())).toBeLessThan(60_000);
    }

    relay.receiver.plan('/tasks', { status: 500 }, { status: 204 });
    await partner.register({ eventType: 'task.created', endPointUrl: relay.receiver.url('/tasks'), apiKey: 'key' });
    const envelope = anEnvelope();
    expect(await source.post(envelope)).toMatchObject({ status: 202 });
    const story = async () => (await partner.request('GET', `/deliveries/${envelope.id}`)).json;
    const state = async () => (await story())['deliveries']?.[0]?.['state'] as unknown;
    await until('it waits', async () => (await state()) === 'waiting', { seen: story });
    expect(Math.abs(Date.parse(String((await story())['acceptedAt'])) - Date.now())).toBeLessThan(60_000);
    expect((await partner.request('POST', `/deliveries/${envelope.id}/retry`)).status).toBe(202);
    await until('it is delivered', () => relay.receiver.delivered('/tasks').length === 1, { seen: story });
  });
});

it('a delivery that a wrong clock put off for 30 h is made due', async () => {
  const relay = await startRelay({ RETRY_SCHEDULE: '2h' });
  const [partner, source] = [await relay.partner(), await relay.source()];
  relay.receiver.plan('/tasks', { status: 500 }, { status: 204 });
  await partner.register({ eventType: 'task.created', endPointUrl: relay.receiver.url('/tasks'), apiKey: 'key' });
  const envelope = anEnvelope();
  expect(await source.post(envelope)).toMatchObject({ status: 202 });
  const shard = relay.stack.shards.of(envelope.id);
  const delayed = shard.key(DELIVERIES_QUEUE, 'delayed');
  const job = await until('it waits', async () => (await shard.redis.zrange(delayed, '0', '0'))[0]);
  await relay.worker.stop();
  await shard.redis.zadd(delayed, 'XX', (Date.now() + 30 * HOUR_MS) * 4_096, job);
  relay.worker.start();
  await until('it is delivered', () => relay.receiver.delivered('/tasks').length === 1);
  expect(relay.worker.log.join('\n')).toContain('"event":"queue.misdated"');
});
