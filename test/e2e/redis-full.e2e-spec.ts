import { setTimeout as delay } from 'node:timers/promises';
import { anEnvelope } from '../support/client.js';
import { deadLettersIn } from '../support/dead-letters.js';
import { partner, relay, source, startRelayWithServers } from '../support/shared-relay.js';
import { tally } from '../support/tally.js';
import { until } from '../support/until.js';

startRelayWithServers({ RETRY_SCHEDULE: '1s,1s,1s,1s,1s,1s,1s,1s,1s', QUEUE_LIMIT: '50' });

beforeAll(async () => {
  for (const [eventType, path] of [
    ['task.created', '/hook'],
    ['plan.created', '/failing'],
  ] as const)
    await partner.register({ eventType, endPointUrl: relay.receiver.url(path), apiKey: 'k' });
  await source.post(anEnvelope());
  await until('the first envelope is delivered', () => relay.receiver.at('/hook').length === 1);
});

const isPaused = async () => /^relay_reading_paused 1$/m.test(await relay.worker.metrics());
const isReady = async () => (await relay.worker.health())?.status === 'ok';
const lines = (event: string) => relay.worker.log.filter((line) => line.includes(`"${event}"`)).length;
/** Sets the memory Redis may use, as a multiple of what it uses now. */
const allow = async (times: number): Promise<void> => {
  const used = Number(/^used_memory:(\d+)/m.exec(await relay.stack.redis.info('memory'))?.[1]);
  await relay.stack.redis.config('SET', 'maxmemory', Math.ceil(used * times));
};
const send = async (count: number): Promise<Set<string>> => {
  const sent = new Set<string>();
  for (let n = 0; n < count; n += 1) {
    const envelope = anEnvelope();
    const answer = await source.post(envelope);
    expect([answer.status, answer.json['status']]).toEqual([202, 'accepted']);
    sent.add(envelope.id);
  }
  return sent;
};

describe('a Redis that fills', () => {
  it('pauses reading at 70 % of its memory, not before, and lets it go on below 60 %', async () => {
    await allow(1 / 0.75);
    await until('reading pauses', isPaused);
    const sent = await send(20);
    expect(await isReady()).toBe(true);
    expect([lines('reading.paused'), lines('reading.resumed')]).toEqual([1, 0]);
    expect(tally(sent, relay.receiver.ids('/hook')).lost).toBe(20);
    await allow(1 / 0.65);
    await send(1);
    expect(await isPaused()).toBe(true);
    await allow(1 / 0.5);
    const counts = () => tally(sent, relay.receiver.ids('/hook').slice(1));
    await until('everything is delivered', () => counts().lost === 0, { seen: counts });
    expect([lines('reading.paused'), lines('reading.resumed')]).toEqual([1, 1]);
  });

  it('that is full loses nothing: envelopes are answered 202 and delivered when there is room, and the log stays readable', async () => {
    const from = relay.worker.log.length;
    const startedAt = performance.now();
    relay.receiver.plan('/failing', { status: 500 });
    const failing = anEnvelope({ type: 'plan.created' });
    await allow(0.5);
    const sent = await send(50);
    await source.post(failing);
    await until('reading pauses', isPaused);
    await expect(relay.stack.redis.set('x', 'y')).rejects.toThrow(/OOM/);
    const seconds = Math.ceil((performance.now() - startedAt) / 1_000);
    for (const app of [relay.worker, relay.ingress])
      expect(app.log.slice(app === relay.worker ? from : 0).length).toBeLessThan(100 * seconds);

    await relay.stack.redis.config('SET', 'maxmemory', 0);
    relay.receiver.plan('/failing', { status: 204 });
    const counts = () => tally(sent, relay.receiver.ids('/hook'));
    await until('everything is delivered', () => counts().lost === 0, { seen: counts });
    expect(counts().duplicates).toBe(0);
    await until('the other one as well', () => relay.receiver.ids('/failing').includes(failing.id));
    expect(await deadLettersIn(relay.stack.shards)).toEqual([]);
  });

  it('with more queued deliveries than QUEUE_LIMIT pauses reading too, which one dead endpoint alone cannot bring about', async () => {
    const { receiver } = relay;
    const dead = ['/failing', ...Array.from({ length: 12 }, (_, n) => `/dead-${n}`)];
    for (const path of dead) receiver.plan(path, { status: 500 });
    const url = await receiver.anotherOrigin();
    for (const path of dead.slice(1))
      await partner.register({ eventType: 'message.created', endPointUrl: url(path), apiKey: 'k' });
    const before = lines('reading.paused');
    const post = async (type: string): Promise<string> => {
      const envelope = anEnvelope({ type });
      await source.post(envelope);
      return envelope.id;
    };

    const forOne = new Set<string>();
    for (let n = 0; n < 70; n += 1) {
      forOne.add(await post('plan.created'));
      if (n % 10 === 9) await delay(500); // what waits is counted four times a second
    }
    await until('its backlog waits in the log', async () =>
      /^relay_webhooks_parked 1$/m.test(await relay.worker.metrics()),
    );
    expect(lines('reading.paused')).toBe(before);

    // None of these has enough to be parked.
    const forAll = new Set<string>();
    for (let n = 0; n < 5; n += 1) forAll.add(await post('message.created'));
    await until('reading pauses', isPaused);

    for (const path of dead) receiver.plan(path, { status: 204 });
    // The endpoints' breakers are open for half a minute, then one probe each finds them well.
    await until('reading goes on', async () => !(await isPaused()));
    const lost = () => dead.map((path, n) => tally(n === 0 ? forOne : forAll, receiver.delivered(path)).lost);
    await until('everything is delivered', () => lost().every((count) => count === 0), {
      seen: lost,
    });
    expect(lost()).toEqual(dead.map(() => 0));
  });
});
