import { anEnvelope } from '../support/client.js';
import { deadLettersIn } from '../support/dead-letters.js';
import { Receiver, type Answer, type Received } from '../support/receiver.js';
import { partner, relay, source, startRelay } from '../support/shared-relay.js';
import { until } from '../support/until.js';

/** Clocks of two processes read the same event up to this much apart. */
const CLOCK_MS = 5;

startRelay({ RETRY_SCHEDULE: '300ms,700ms,200ms', DELIVERY_TIMEOUT: '1s' });

interface Letter {
  readonly id: string;
  readonly envelopeId: string;
}
const letters = async (webhook: string): Promise<Letter[]> =>
  (await deadLettersIn(relay.stack.shards)).filter(({ webhookId }) => webhookId === webhook);

const dead = (webhook: string): Promise<Letter[]> =>
  until('it is a dead letter', async () => {
    const found = await letters(webhook);
    return found.length > 0 && found;
  });

/** A webhook of its own whose endpoint answers as planned, and an envelope posted to it. */
async function deliver(
  path: string,
  answers: Answer[],
  endpoint: Receiver = relay.receiver,
): Promise<{ webhook: string; envelope: string; text: string }> {
  endpoint.plan(path, ...answers);
  const endPointUrl = endpoint.url(path);
  const webhook = await partner.register({ eventType: 'plan.updated', endPointUrl, apiKey: 'key' });
  const envelope = anEnvelope({ type: 'plan.updated', payload: { path, text: 'ü'.repeat(3_000), big: 1 } });
  const text = JSON.stringify(envelope).replace('"big":1', '"big":12345678901234567890');
  expect(await source.post(text)).toMatchObject({ status: 202 });
  return { webhook, envelope: envelope.id, text };
}

/** The attempts a path has got, once there are as many as given. */
function attempts(path: string, count: number, endpoint: Receiver = relay.receiver): Promise<readonly Received[]> {
  const seen = () => numbers(endpoint.at(path));
  return until(`attempt ${count} arrives`, () => endpoint.at(path).length === count && endpoint.at(path), { seen });
}
/** What the worker told of a webhook's attempts, once there are as many as given. */
function told(webhook: string, count: number): Promise<{ at: string; durationMs: number }[]> {
  return until(`${count} attempts are told`, async () => {
    const records = (await relay.stack.topic('relay.delivery-attempts').read()).map(
      ({ value }) => JSON.parse(value.toString()) as { webhookId: string; at: string; durationMs: number },
    );
    const own = records.filter(({ webhookId }) => webhookId === webhook);
    return own.length === count && own;
  });
}
const numbers = (received: readonly Received[]) => received.map(({ headers }) => headers['relay-attempt']);
const bodies = (received: readonly Received[]) => received.map(({ body }) => body.toString());
const gaps = (received: readonly Received[]) => received.slice(1).map(({ at }, n) => at - (received[n]?.at ?? 0));

// Each test ends with its webhook deleted: all share an event type.
const removed = (webhook: string) => partner.request('DELETE', '/webhooks', { eventType: 'plan.updated', id: webhook });

describe('an attempt that fails', () => {
  it('is repeated by the schedule until it succeeds, with an identical body and a number', async () => {
    const { webhook, envelope, text } = await deliver('/twice', [{ status: 500 }, { status: 404 }, { status: 200 }]);
    const received = await attempts('/twice', 3);
    expect(numbers(received)).toEqual(['1', '2', '3']);
    expect(bodies(received)).toEqual([text, text, text]);
    expect(relay.receiver.ids('/twice')).toEqual([envelope, envelope, envelope]);
    const [first = 0, second = 0] = gaps(received);
    expect(first).toBeGreaterThanOrEqual(300 - CLOCK_MS);
    expect(second).toBeGreaterThanOrEqual(700 - CLOCK_MS);
    expect(await letters(webhook)).toEqual([]);
    await removed(webhook);
  });

  it('is a duplicate when its envelope comes again, in the log too, although its job is gone', async () => {
    const { webhook, envelope, text } = await deliver('/again', [{ status: 500 }, { status: 200 }]);
    await attempts('/again', 2);
    const shard = relay.stack.shards.of(envelope);
    const { redis } = shard;
    const jobs = () => redis.keys(shard.key('deliveries', `*${envelope}*`));
    const ended = async () =>
      (await redis.zrange(shard.key('deliveries', 'completed'), '0', '-1')).filter((id) => id.includes(envelope));
    await until('its job has ended', async () => (await ended()).length === 1);
    // As it is two minutes later.
    await redis.zrem(shard.key('deliveries', 'completed'), await ended());
    await redis.del(await jobs());
    expect((await source.post(text)).json).toMatchObject({ status: 'duplicate' });
    const dropped = async () => Number(/^relay_dedupe_hits_total (\d+)/m.exec(await relay.worker.metrics())?.[1]);
    const before = await dropped();
    await relay.stack.topic('plan.updated').write({ value: text });
    await until('the worker drops it', async () => (await dropped()) === before + 1);
    expect([relay.receiver.at('/again').length, await jobs()]).toEqual([2, []]);
    await removed(webhook);
  });

  it.each<[string, Answer, number]>([
    ['takes longer than its deadline', 'hang', 1_000],
    ['ends with its connection', 'reset', 0],
    ['is answered with a redirect, which is not followed', { status: 302, headers: { location: '/elsewhere' } }, 0],
    ['is answered 408', { status: 408 }, 0],
  ])('because it %s is repeated', async (_, answer, deadlineMs) => {
    // An endpoint of its own: on a connection that was used before, a reset costs no attempt but is sent again at once.
    const endpoint = await Receiver.open();
    const { webhook, text } = await deliver('/once', [answer, { status: 204 }], endpoint);
    const received = await attempts('/once', 2, endpoint);
    expect([...numbers(received), ...bodies(received)]).toEqual(['1', '2', text, text]);
    // By the worker's clock: a busy endpoint sees a request later than its deadline has begun.
    const [first, second] = await told(webhook, 2);
    expect(first?.durationMs).toBeGreaterThanOrEqual(deadlineMs - CLOCK_MS);
    const restedMs = Date.parse(second?.at ?? '') - Date.parse(first?.at ?? '') - (first?.durationMs ?? 0);
    expect(restedMs).toBeGreaterThanOrEqual(300 - CLOCK_MS);
    expect(endpoint.at('/elsewhere')).toEqual([]);
    await removed(webhook);
    await endpoint.close();
  });

  it('every time makes a dead letter after exactly the scheduled attempts, which is listed, replayed and delivered', async () => {
    const { webhook, envelope, text } = await deliver('/always', [{ status: 500 }]);
    const [letter] = await dead(webhook);
    expect(numbers(relay.receiver.at('/always'))).toEqual(['1', '2', '3', '4']);
    expect(letter).toMatchObject({
      envelopeId: envelope,
      webhookId: webhook,
      partnerId: partner.clientId,
      eventType: 'plan.updated',
      reason: 'attempts_exhausted',
      attempts: 4,
      lastFailure: 'answered 500',
    });

    relay.receiver.plan('/always', { status: 500 }, { status: 204 });
    const report = await relay.stack.relay('dead-letters', 'replay', letter?.id ?? '');
    expect(report).toMatchObject({ replayed: 1, deliveries: 1, refused: [], missing: [] });
    const received = await attempts('/always', 6);
    expect(numbers(received).slice(4)).toEqual(['1', '2']);
    expect(new Set(bodies(received))).toEqual(new Set([text]));
    expect(await letters(webhook)).toEqual([]);
    await removed(webhook);
  });

  it('with 410 makes a dead letter at once', async () => {
    const { webhook, envelope } = await deliver('/gone', [{ status: 410 }]);
    expect(await dead(webhook)).toEqual([
      expect.objectContaining({ envelopeId: envelope, reason: 'gone', attempts: 1 }),
    ]);
    expect(numbers(relay.receiver.at('/gone'))).toEqual(['1']);
    await removed(webhook);
  });

  it.each([
    [429, 'seconds', () => '2'],
    [503, 'seconds', () => '2'],
    // A date has whole seconds, and the worker reads it by Redis' clock: four from now is at least two.
    [503, 'a date', () => new Date(Date.now() + 4_000).toUTCString()],
  ])('with %i and Retry-After as %s is repeated no earlier than that', async (status, form, retryAfter) => {
    const path = `/retry-after/${status}/${form.length}`;
    // Made when it is answered: what comes before may take its time.
    relay.receiver.decide(path, ({ 'relay-attempt': attempt }) =>
      attempt === '1' ? { status, headers: { 'retry-after': retryAfter() } } : { status: 204 },
    );
    const { webhook } = await deliver(path, []);
    expect(gaps(await attempts(path, 2))[0]).toBeGreaterThanOrEqual(2_000 - CLOCK_MS);
    await removed(webhook);
  });
});
