import { randomUUID } from 'node:crypto';
import { EVENT_TYPES } from '@relay/events';
import { Publisher, PublishFailed, type PublishFailureReason } from '@relay/publishing';
import type { MemoryPublisher } from '@relay/testing';
import { ThrottledLog } from '@relay/telemetry';
import { Registry } from 'prom-client';
import { ErrorsModule } from '../documents/documents.module.js';
import { DEFAULT_ENVELOPE_BYTES as MAX_ENVELOPE_BYTES } from '@relay/settings';
import { appOfSpec } from '../http/spec-app.js';
import { DeliveriesModule } from './deliveries.module.js';

let apiKey: string;
let partners: string[];

const sourceKey = async (name: string, audience: string[]): Promise<string> => {
  const source = await spec.clients.createSource(name, { credential: 'apiKey', audience });
  if (!('apiKey' in source)) throw new Error('no API key');
  return source.apiKey;
};

const spec = await appOfSpec([ErrorsModule, DeliveriesModule]);
const log = spec.app.get<Publisher, MemoryPublisher>(Publisher);
beforeAll(async () => {
  for (const type of EVENT_TYPES) log.createTopic(type);
  apiKey = await sourceKey('platform', []);
  const made = [await spec.clients.createPartner('one'), await spec.clients.createPartner('two')];
  partners = made.map(({ clientId }) => clientId).toSorted();
});
afterEach(() => {
  log.failure = undefined;
});

interface Answer {
  status: number;
  headers: Headers;
  json: Record<string, unknown>;
}

async function post(path: string, body: string, headers: Record<string, string> = {}): Promise<Answer> {
  const all = { 'content-type': 'application/json', 'x-api-key': apiKey, ...headers };
  const response = await fetch(spec.url + path, { method: 'POST', headers: all, body });
  const json: unknown = await response.json();
  return { status: response.status, headers: response.headers, json: Object.assign({}, json) };
}

const pointersOf = ({ json }: Answer): string[] =>
  Array.isArray(json['errors']) ? json['errors'].map((fault: { pointer: string }) => fault.pointer) : ['none'];

const anEnvelope = (id: string = randomUUID(), payload = '{"n":1.10}', type = 'plan.updated'): string =>
  `{"id":"${id}","type":"${type}","payload":${payload}}`;

const stored = (id: string) => log.read('plan.updated').filter((record) => record.headers['ce_id'] === id);

describe('POST /deliveries', () => {
  it('answers 202 for what is stored, with the bytes as they came', async () => {
    const id = randomUUID();
    const body = ` {"payload":{"b":12345678901234567890,"a":1.10},  "id":"${id.toUpperCase()}","type":"plan.updated"}`;
    const { status, json } = await post('/deliveries', body);
    expect([status, json]).toEqual([202, { id, type: 'plan.updated', status: 'accepted' }]);
    expect(stored(id).map((record) => record.value.toString())).toEqual([body]);
    expect(stored(id)[0]?.headers).toMatchObject({ ce_source: 'https://relay.example' });
  });

  it('answers a repeat with duplicate, other content with 409', async () => {
    const id = randomUUID();
    await post('/deliveries', anEnvelope(id));
    expect(await post('/deliveries', anEnvelope(id))).toMatchObject({ status: 202, json: { id, status: 'duplicate' } });
    const conflict = await post('/deliveries', anEnvelope(id, '{"n":1.1}'));
    expect(conflict).toMatchObject({ status: 409, json: { id, status: 409 } });
    expect(stored(id)).toHaveLength(1);
  });

  it.each([
    ['{', 400, '#malformed-json', ''],
    ['', 400, '#invalid-body', 'none'],
    [anEnvelope('x'), 400, '#invalid-body', '/id'],
    [anEnvelope(randomUUID(), '{}', 'plan.filed'), 400, '#invalid-body', '/type'],
    [anEnvelope(randomUUID(), '[]'), 400, '#invalid-body', '/payload'],
    [anEnvelope(randomUUID(), '{}', 'task.created'), 400, '#invalid-body', '/payload/id'],
    [anEnvelope(randomUUID(), `{"x":"${'y'.repeat(MAX_ENVELOPE_BYTES)}"}`), 413, '#payload-too-large', 'none'],
  ])('refuses %#', async (body, status, type, pointer) => {
    const answer = await post('/deliveries', body);
    expect(answer.status).toBe(status);
    expect(answer.json['type']).toContain(type);
    expect(pointersOf(answer)).toContain(pointer);
  });

  it('names the longest body that it takes', async () => {
    const answer = await post('/deliveries', 'x'.repeat(MAX_ENVELOPE_BYTES + 1));
    expect(answer.json['detail']).toBe('The body is longer than the 262144 bytes that this path accepts.');
  });

  it('takes an envelope of 256 KiB', async () => {
    const id = randomUUID();
    const filler = 'y'.repeat(MAX_ENVELOPE_BYTES - anEnvelope(id, '{"x":""}').length);
    expect(await post('/deliveries', anEnvelope(id, `{"x":"${filler}"}`))).toMatchObject({ status: 202 });
  });

  it('takes nobody it does not know', async () => {
    expect(await post('/deliveries', anEnvelope(), { 'x-api-key': 'wrong' })).toMatchObject({ status: 401 });
  });

  it.each<[PublishFailureReason, number, string | null, string]>([
    ['unavailable', 503, '2', 'with the same id'],
    ['timeout', 503, '2', 'with the same id'],
    ['overloaded', 503, '1', 'Nothing was stored'],
    ['refused', 503, '2', 'Nothing was stored'],
  ])('answers a log that is %s with %d', async (reason, status, retryAfter, detail) => {
    log.failure = new PublishFailed(reason, 'broker 10.0.0.7 says no');
    const answer = await post('/deliveries', anEnvelope());
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([status, retryAfter]);
    expect(JSON.stringify(answer.json)).not.toContain('10.0.0.7');
    expect(answer.json['detail']).toContain(detail);
  });

  it('passes the trace on', async () => {
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    const [own, given] = [randomUUID(), randomUUID()];
    await post('/deliveries', anEnvelope(given), { traceparent });
    await post('/deliveries', anEnvelope(own));
    expect(stored(given)[0]?.headers['traceparent']).toBe(traceparent);
    expect(stored(own)[0]?.headers['traceparent']).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/);
  });
});

describe('POST /deliveries/batch', () => {
  const id = randomUUID();
  const parts = [anEnvelope(id), '{"id":', anEnvelope(randomUUID(), '[]'), anEnvelope(id), anEnvelope(id, '{}')];

  it.each([
    ['application/json', (texts: string[]) => `[${texts.filter((text) => text !== '{"id":').join(' ,\n')}]`],
    ['application/x-ndjson', (texts: string[]) => texts.join('\n')],
  ])('as %s answers each envelope in order', async (type, join) => {
    const own = randomUUID();
    const texts = parts.map((text) => text.replaceAll(id, own));
    const { status, json } = await post('/deliveries/batch', join(texts), { 'content-type': type });
    const malformed = { id: null, status: 'invalid', errors: [{ pointer: '/id' }] };
    expect(status).toBe(200);
    expect(json['results']).toMatchObject([
      { id: own, status: 'accepted' },
      ...(type === 'application/json' ? [] : [malformed]),
      { id: expect.stringMatching(/^.{36}$/) as unknown, status: 'invalid', errors: [{ pointer: '/payload' }] },
      { id: own, status: 'duplicate' },
      { id: own, status: 'conflict' },
    ]);
    expect(stored(own).map((record) => record.value.toString())).toEqual([texts[0]]);
  });

  it.each<PublishFailureReason>(['timeout', 'refused'])(
    'names what the log did not take (%s), without a 503 for the whole',
    async (reason) => {
      log.failure = new PublishFailed(reason, 'no');
      const own = randomUUID();
      const { status, json } = await post('/deliveries/batch', `[${anEnvelope(own)}]`);
      expect([status, json]).toEqual([200, { results: [{ id: own, status: 'unavailable' }] }]);
    },
  );

  it('refuses an envelope over 256 KiB and takes its neighbour', async () => {
    const large = anEnvelope(randomUUID(), `{"x":"${'y'.repeat(MAX_ENVELOPE_BYTES)}"}`);
    const { json } = await post('/deliveries/batch', `[${large},${anEnvelope()}]`);
    expect(json['results']).toMatchObject([{ status: 'invalid' }, { status: 'accepted' }]);
  });

  it.each([
    ['', 400],
    ['{}', 400],
    [`[${anEnvelope()}`, 400],
    [`[${Array.from({ length: 1_001 }, () => '{}').join(',')}]`, 413],
    [`[${','.repeat(4_000_000)}]`, 413],
    [`[${' '.repeat(4 * 1024 * 1024)}]`, 413],
    ['[]', 200],
  ])('answers %# as a whole', async (body, status) => {
    expect((await post('/deliveries/batch', body)).status).toBe(status);
  });

  it('takes 1,000 envelopes', async () => {
    const texts = Array.from({ length: 1_000 }, () => anEnvelope());
    const { json } = await post('/deliveries/batch', `[${texts.join(',')}]`);
    expect(json['results']).toMatchObject(texts.map(() => ({ status: 'accepted' })));
  });
});

it('counts what it answered', async () => {
  const text = await spec.app.get(Registry).metrics();
  expect(text).toMatch(/relay_ingress_events_total\{event_type="plan.updated",result="duplicate"\} [1-9]/);
  expect(text).toMatch(/relay_ingress_events_total\{event_type="unknown",result="invalid"\} [1-9]/);
  expect(text).toContain('relay_ingress_events_total{event_type="tax_return.filed",result="conflict"} 0');
  expect(text).toMatch(/relay_publish_duration_seconds_count [1-9]/);
});

describe('a CloudEvent', () => {
  const data = '{ "z": 1.10, "id": 7 }';
  const structured = (id: string): string =>
    `{"specversion":"1.0","id":"${id}","source":"/core","type":"plan.created","data":${data}}`;
  const ce = (id: string): Record<string, string> => ({
    'ce-specversion': '1.0',
    'ce-id': id,
    'ce-source': '/core',
    'ce-type': 'plan.created',
  });

  it.each([
    [
      'structured',
      (id: string) =>
        post('/deliveries', structured(id), { 'content-type': 'application/cloudevents+json; charset=utf-8' }),
    ],
    ['binary', (id: string) => post('/deliveries', data, ce(id))],
  ])(
    'in %s mode becomes a record with the bytes of its data, and a repeat of the same envelope',
    async (_mode, send) => {
      const id = randomUUID();
      expect(await send(id)).toMatchObject({ status: 202, json: { id, type: 'plan.created', status: 'accepted' } });
      const envelope = `{"id":"${id}","type":"plan.created","payload":${data}}`;
      expect(log.read('plan.created').map(({ value }) => value.toString())).toContain(envelope);
      expect(await post('/deliveries', envelope)).toMatchObject({ status: 202, json: { status: 'duplicate' } });
    },
  );

  it('in binary mode needs no content type, and keeps its source and time in the headers of its record', async () => {
    const [id, time] = [randomUUID(), '2030-01-01T09:00:00+01:00'];
    const headers = { 'x-api-key': apiKey, ...ce(id), 'ce-type': 'plan.updated', 'ce-time': time };
    await fetch(`${spec.url}/deliveries`, { method: 'POST', body: Buffer.from(data), headers });
    expect(stored(id)[0]?.headers).toMatchObject({ ce_source: '/core', 'relay-event-time': time });
    expect(stored(id)[0]?.headers['ce_time']).not.toBe(time);
  });

  it('is taken in a batch of its own media type', async () => {
    const [id, type] = [randomUUID(), 'application/cloudevents-batch+json'];
    const { json } = await post('/deliveries/batch', `[${structured(id)},{}]`, { 'content-type': type });
    expect(json['results']).toMatchObject([{ id, status: 'accepted' }, { status: 'invalid' }]);
  });

  it('is refused in binary mode if its envelope is over 256 KiB, although its data is not', async () => {
    const dataOf = (bytes: number): string => `{"x":"${'y'.repeat(bytes - '{"x":""}'.length)}"}`;
    const around = `{"id":"${randomUUID()}","type":"plan.created","payload":}`.length;
    const largest = MAX_ENVELOPE_BYTES - around;
    expect(await post('/deliveries', dataOf(largest), ce(randomUUID()))).toMatchObject({ status: 202 });
    for (const bytes of [largest + 1, MAX_ENVELOPE_BYTES]) {
      const { status, json } = await post('/deliveries', dataOf(bytes), ce(randomUUID()));
      expect([status, json['type']]).toEqual([413, expect.stringContaining('#payload-too-large')]);
    }
  });

  it.each([
    ['without an id', { ...ce(''), 'ce-id': '' }, /ce-id/],
    ['of an unknown type', { ...ce(randomUUID()), 'ce-type': 'x' }, /ce-type/],
  ])('%s is refused', async (_name, headers, detail) => {
    const { status, json } = await post('/deliveries', data, headers);
    expect([status, JSON.stringify(json['errors'])]).toEqual([400, expect.stringMatching(detail)]);
  });
});

it('accepts while Redis is away, from a source seen before', async () => {
  await spec.redis.stop();
  for (const named of [undefined, partners[0], 'partner_that_nobody_can_look_up'])
    expect(await post('/deliveries', anEnvelope(), named ? { 'relay-partner': named } : {})).toMatchObject({
      status: 202,
      json: { status: 'accepted' },
    });
});

describe('the log line of what Kafka did not acknowledge', () => {
  const said: unknown[] = [];
  beforeAll(() => {
    const warn = (event: string, _text: string, fields: unknown): void => {
      if (event === 'request.unavailable') said.push(fields);
    };
    Object.assign(spec.app.get(ThrottledLog), { warn });
  });
  beforeEach(() => {
    said.length = 0;
    log.failure = new PublishFailed('unavailable', 'Kafka is away');
  });
  const ids = { requestId: expect.any(String), traceId: expect.stringMatching(/^[0-9a-f]{32}$/) };

  it('names envelope and trace, also of a sender that names none', async () => {
    const id = randomUUID();
    expect((await post('/deliveries', anEnvelope(id))).status).toBe(503);
    const fields = { ...ids, envelopeId: id, path: '/deliveries', reason: 'Kafka is away' };
    expect(said).toEqual([expect.objectContaining(fields)]);
  });

  it('is one for a batch, with how many of its envelopes and the first of them', async () => {
    const parts = [randomUUID(), randomUUID()];
    await post('/deliveries/batch', `[${parts.map((id) => anEnvelope(id)).join(',')},{}]`);
    const fields = { ...ids, envelopeId: parts[0], path: '/deliveries/batch', unavailable: 2, reason: 'Kafka is away' };
    expect(said).toEqual([expect.objectContaining(fields)]);
  });
});
