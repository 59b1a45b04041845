import { anEnvelope, type Json } from '../support/client.js';
import { partner, relay, source, startRelay } from '../support/shared-relay.js';
import { until } from '../support/until.js';

startRelay({ RETRY_SCHEDULE: '1s' });

const type = 'plan.updated';
/** Too few for the endpoint's breaker, also where their repeats come one after the other. */
const FAILED = 5;

it('a replay of what failed delivers the dead letters of its time once more, and nothing else', async () => {
  const failing = new Set<string>();
  relay.receiver.decide('/some', ({ 'webhook-id': id }) => ({ status: failing.has(String(id)) ? 500 : 204 }));
  const endPointUrl = relay.receiver.url('/some');
  const webhookId = await partner.register({ eventType: type, endPointUrl, apiKey: 'key' });
  const dead = async (): Promise<Set<string>> => {
    const { json } = await partner.request('GET', `/webhooks/${webhookId}/deliveries?status=dead&limit=200`);
    return new Set((json['deliveries'] as unknown as Json[]).map(({ envelopeId }) => String(envelopeId)));
  };
  const replay = async (body: object): Promise<Json> =>
    (await partner.request('POST', `/webhooks/${webhookId}/replay`, { status: 'failed', ...body })).json;
  const ended = async (body: object = {}): Promise<Json> => {
    const { id } = await replay(body);
    const read = async (): Promise<Json> => (await partner.request('GET', `/replays/${String(id)}`)).json;
    await until('the replay has ended', async () => String((await read())['state']) === 'done', { seen: read });
    return read();
  };

  const sent = Array.from({ length: 80 }, () => anEnvelope({ type }));
  for (const [index, envelope] of sent.entries()) {
    if (index % (sent.length / FAILED) === 5) failing.add(envelope.id);
    expect((await source.post(envelope)).status).toBe(202);
  }
  await until('what fails is dead', async () => (await dead()).size === FAILED, { seen: dead });
  const requests = sent.length + FAILED; // a repeat of each that failed
  await until('all the others came', () => relay.receiver.at('/some').length === requests);

  expect(await replay({ dryRun: true })).toMatchObject({
    id: null,
    state: 'dry-run',
    status: 'failed',
    matched: FAILED,
  });
  expect(await replay({ until: '2020-01-01T00:00:00Z', dryRun: true })).toMatchObject({ matched: 0 });
  expect(await ended({ until: '2020-01-01T00:00:00Z' })).toMatchObject({ matched: 0, done: 0, failed: 0 });

  const [still = '', ...mended] = [...failing];
  for (const id of mended) failing.delete(id);
  expect(await ended()).toMatchObject({ status: 'failed', matched: FAILED, done: FAILED, failed: 0 });
  await until('the one that failed again is dead again', async () => (await dead()).has(still), { seen: dead });
  expect(await dead()).toEqual(new Set([still]));
  await until('all others are delivered', () => relay.receiver.at('/some').length === requests + FAILED + 1);
  const again = relay.receiver.at('/some').slice(requests);
  expect(again.map(({ headers }) => String(headers['webhook-id'])).toSorted()).toEqual(
    [...mended, still, still].toSorted(),
  );

  failing.clear();
  expect(await ended()).toMatchObject({ matched: 1, done: 1, failed: 0 });
  expect(await dead()).toEqual(new Set());
  expect(await ended()).toMatchObject({ matched: 0, done: 0, failed: 0 });
});

it('a replay of a time in which its webhook was disabled leaves out what waits, which comes once', async () => {
  const other = 'plan.created';
  const endPointUrl = relay.receiver.url('/disabled');
  const id = await partner.register({ eventType: other, endPointUrl, apiKey: 'key' });
  const replay = async (body: object): Promise<Json> =>
    (await partner.request('POST', `/webhooks/${id}/replay`, body)).json;
  const post = async (count: number): Promise<string[]> => {
    const sent = Array.from({ length: count }, () => anEnvelope({ type: other }));
    for (const envelope of sent) expect((await source.post(envelope)).status).toBe(202);
    return sent.map((envelope) => envelope.id);
  };
  const came = (): string[] => relay.receiver.ids('/disabled');
  const delivered = await post(5);
  await until('the first ones came', () => came().length === 5);
  expect((await partner.request('POST', `/webhooks/${id}/disable`)).status).toBe(200);
  const waiting = await post(10);
  const counted = async (): Promise<unknown> => (await replay({ dryRun: true }))['matched'];
  await until('what waits is not counted', async () => (await counted()) === 5, { seen: counted });

  const { id: replayId, matched } = await replay({});
  expect(matched).toBe(5);
  expect((await partner.request('POST', `/webhooks/${id}/enable`)).status).toBe(200);
  const state = async (): Promise<unknown> =>
    (await partner.request('GET', `/replays/${String(replayId)}`)).json['state'];
  await until('the replay has ended', async () => (await state()) === 'done', { seen: state });
  await until('all came', () => came().length >= 20, { seen: came });
  expect(came().toSorted()).toEqual([...delivered, ...delivered, ...waiting].toSorted());
});
