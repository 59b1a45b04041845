import { randomUUID } from 'node:crypto';
import { anEnvelope, type Client, type Json } from '../support/client.js';
import { partner, relay, source, startRelay } from '../support/shared-relay.js';
import { until } from '../support/until.js';

let stranger: Client;

startRelay({ RETRY_SCHEDULE: '1s' });

beforeAll(async () => {
  stranger = await relay.partner();
});

const register = (path: string, eventType: string, client = partner): Promise<string> =>
  client.register({ eventType, endPointUrl: relay.receiver.url(path), apiKey: 'key-of-the-endpoint' });
const list = async (query: string, client = partner): Promise<readonly Json[]> =>
  (await client.request('GET', `/deliveries${query}`)).json['deliveries'] ?? [];
const stateOf = async (id: string): Promise<Json> => {
  const { json } = await partner.request('GET', '/webhooks/status');
  return [...(json['webhooks'] ?? [])].find((webhook) => webhook['id'] === (id as unknown)) as Json;
};

it('a partner sees failures with the answers of its endpoint, and retries all of them at once', async () => {
  const [failing, fine] = [await register('/failing', 'task.created'), await register('/fine', 'plan.created')];
  let status = 500;
  relay.receiver.decide('/failing', () => ({
    status,
    headers: { 'content-type': 'application/json' },
    body: '{"error":"no room","sent":"key-of-the-endpoint"}',
  }));
  const envelopes = Array.from({ length: 3 }, () => anEnvelope());
  const other = anEnvelope({ type: 'plan.created' });
  for (const envelope of [...envelopes, other]) expect((await source.post(envelope)).status).toBe(202);
  await until('they are dead', async () => (await list('?status=dead')).length === 3);
  await until('the other one is delivered', async () => (await list('?status=delivered')).length === 1);

  const answer = 'left out: it repeats a credential';
  const attempt = { status: 500, detail: 'answered 500', answer };
  for (const one of await list('?httpStatus=5xx'))
    expect(one).toMatchObject({ webhookId: failing, status: 'dead', series: 0, attempts: [attempt, attempt] });
  expect((await list('')).map(({ webhookId }) => webhookId)).toEqual(
    expect.arrayContaining([failing, failing, failing, fine]),
  );
  expect(await list('', stranger)).toEqual([]);
  await until('the failures are counted', async () => (await stateOf(failing))['failedAttempts'] === (6 as unknown));
  expect(await stateOf(failing)).toMatchObject({ dead: 3, delivered: 0, failureRate: 1, lastFailure: attempt });
  expect(await stateOf(fine)).toMatchObject({
    waiting: 0,
    dead: 0,
    delivered: 1,
    failedAttempts: 0,
    lastDelivered: { envelopeId: other.id, status: 204 },
  });

  status = 204;
  const selection = { status: 'dead', webhookIds: [failing] };
  expect((await stranger.request('POST', '/deliveries/retry', selection)).status).toBe(404);
  const counted = await partner.request('POST', '/deliveries/retry', { ...selection, dryRun: true });
  expect(counted.json).toMatchObject({ matched: 3, retried: 0, refused: [], cursor: null });
  expect((await partner.request('POST', '/deliveries/retry', selection)).json).toMatchObject({ retried: 3 });
  await until('they are delivered', async () => (await list('?status=delivered&eventType=task.created')).length === 3);
  expect(await list('?status=dead')).toEqual([]);
  const [delivered] = await list(`?webhookId=${failing}`);
  expect(delivered).toMatchObject({ series: 1, attempts: [attempt, attempt, { status: 204 }] });
  const acceptedAt = Date.parse(String(delivered?.['acceptedAt']));
  expect(acceptedAt).toBeLessThanOrEqual(Date.parse(String(delivered?.['attempts']?.[0]?.['at'])));
  expect(acceptedAt).toBeGreaterThan(Date.now() - 60_000);
});

it('a partner reads the bytes of an envelope again, once it is delivered from Kafka, and nobody else does', async () => {
  await register('/again', 'recommendation.created');
  await register('/theirs', 'recommendation.created', stranger);
  const id = randomUUID();
  const text = `{ "type":"recommendation.created",  "payload":{"text":"ü","big":12345678901234567890}, "id":"${id.toUpperCase()}" }`;
  const path = `/deliveries/${id}/payload`;
  expect((await partner.request('GET', path)).status).toBe(404);
  const bound = await source.post(text, { 'relay-partner': partner.clientId });
  expect([bound.status, bound.text]).toEqual([202, expect.stringContaining(id)]);
  const delivered = async (): Promise<unknown> =>
    (await partner.request('GET', `/deliveries/${id}`)).json['deliveries']?.[0]?.['state'];
  await until('it is delivered', async () => (await delivered()) === 'delivered');
  const read = await partner.request('GET', path);
  expect([read.status, read.headers.get('content-type'), read.text]).toEqual([200, 'application/json', text]);
  const [theirs, none] = await Promise.all(
    [path, `/deliveries/${randomUUID()}/payload`].map((each) => stranger.request('GET', each)),
  );
  expect([theirs?.status, theirs?.json['detail']]).toEqual([404, none?.json['detail']]);
});
