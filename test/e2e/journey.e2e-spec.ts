import { randomUUID } from 'node:crypto';
import { EVENT_TYPES } from '@relay/events';
import { Webhook } from 'standardwebhooks';
import { partner, relay, source, startRelay } from '../support/shared-relay.js';
import { until } from '../support/until.js';

startRelay();

/** Text that no JSON parser and writer gives back unchanged. */
const awkward = (id: string, type: string): string =>
  `{ "type":"${type}",\n\t"payload" : {"zeta":1.10,"big":12345678901234567890,"exponent":1E+2,"zero":-0.0,` +
  `"id":"${randomUUID()}","userId":"${randomUUID()}","financialPlanId":"${randomUUID()}",` +
  `"text":"na\\u00efve \\/ Zürich 東京 🚀","__proto__":{"unknown":[ ]},"alpha":null}, "id":"${id.toUpperCase()}" }\n`;

const record = (type: string) => relay.stack.topic(type).read();

describe('the journey of an envelope', () => {
  it.each(EVENT_TYPES)('takes %s to its own topic and to a webhook byte for byte', async (type) => {
    const [id, path] = [randomUUID(), `/journey/${type}`];
    await partner.register({ eventType: type, endPointUrl: relay.receiver.url(path), apiKey: 'key-1' });
    const text = awkward(id, type);
    const answer = await source.post(text);
    expect([answer.status, answer.json]).toEqual([202, { id, type, status: 'accepted' }]);
    const received = await until(`${type} is delivered`, () => relay.receiver.at(path)[0]);
    expect(received.body.toString()).toBe(text);
    expect((await record(type)).map(({ value }) => value.toString())).toEqual([text]);
  });

  it('puts an envelope into no other topic, and delivers it once', async () => {
    const counts = await Promise.all(EVENT_TYPES.map((type) => relay.stack.topic(type).count()));
    const deliveries = EVENT_TYPES.map((type) => relay.receiver.at(`/journey/${type}`).length);
    expect([...counts, ...deliveries]).toEqual(Array.from({ length: 28 }, () => 1));
  });

  it('tells the topic about it in CloudEvents headers and the endpoint in the headers of the contract', async () => {
    await partner.register({
      eventType: 'plan.completed',
      endPointUrl: relay.receiver.url('/headers'),
      apiKey: 'key-2',
    });
    const [id, entity, trace] = [randomUUID(), randomUUID(), '4bf92f3577b34da6a3ce929d0e0e4736'];
    const text = JSON.stringify({ id, type: 'plan.completed', payload: { id: entity } });
    const before = Date.now();
    await source.post(text, { traceparent: `00-${trace}-00f067aa0ba902b7-01` });
    const { headers, method } = await until('it is delivered', () => relay.receiver.at('/headers')[0]);

    const stored = (await record('plan.completed')).find(({ value }) => value.toString() === text);
    const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(stored).toMatchObject({ key: entity });
    expect(stored?.headers).toEqual({
      ce_specversion: '1.0',
      ce_id: id,
      ce_type: 'plan.completed',
      ce_source: relay.stack.env['PUBLIC_URL'],
      ce_time: time,
      'content-type': 'application/json',
      'relay-source': source.clientId,
      traceparent: expect.stringMatching(`^00-${trace}-[0-9a-f]{16}-01$`),
    });
    const { host, connection, ...told } = headers;
    expect([method, host, connection]).toEqual(['POST', new URL(relay.receiver.url('/')).host, 'keep-alive']);
    expect(told).toEqual({
      'content-type': 'application/json',
      'content-length': String(text.length),
      'user-agent': expect.stringMatching(/^partner-relay\/\d+\.\d+\.\d+/),
      'webhook-id': id,
      'webhook-timestamp': expect.stringMatching(/^\d{10}$/),
      'webhook-signature': expect.stringMatching(/^v1,[\w+/]{43}=$/),
      'relay-event-type': 'plan.completed',
      'relay-attempt': '1',
      traceparent: expect.stringMatching(`^00-${trace}-[0-9a-f]{16}-01$`),
      'x-api-key': 'key-2',
    });
    expect(Number(told['webhook-timestamp']) * 1_000).toBeGreaterThan(before - 1_000);
    expect(Number(told['webhook-timestamp']) * 1_000).toBeLessThanOrEqual(Date.now());
  });

  it('names envelope, webhook, attempt and trace in the log line of a delivery that died', async () => {
    relay.receiver.plan('/gone', { status: 410 });
    const webhookId = await partner.register({
      eventType: 'plan.updated',
      endPointUrl: relay.receiver.url('/gone'),
      apiKey: 'key-3',
    });
    const [id, traceId] = [randomUUID(), 'a3ce929d0e0e47364bf92f3577b34da6'];
    await source.post({ id, type: 'plan.updated', payload: {} }, { traceparent: `00-${traceId}-00f067aa0ba902b7-01` });
    const line = await until('it is told', () => relay.worker.log.find((text) => text.includes('"delivery.dead"')));
    expect(JSON.parse(line)).toMatchObject({ envelopeId: id, webhookId, attempt: 1, traceId, reason: 'gone' });
  });

  it.each([
    ['apiKey', { apiKey: 'sk_~!"#$%&' }, { 'x-api-key': 'sk_~!"#$%&', authorization: undefined }],
    ['jwt', { jwt: 'eyJ.eyJ.sig-_' }, { 'x-api-key': undefined, authorization: 'Bearer eyJ.eyJ.sig-_' }],
    [
      'basic',
      { userName: 'zoë', password: 'pass:wörd 🔑' },
      {
        'x-api-key': undefined,
        authorization: `Basic ${Buffer.from('zoë:pass:wörd 🔑').toString('base64')}`,
      },
    ],
  ])('shows the endpoint its %s', async (kind, credential, expected) => {
    const path = `/credential/${kind}`;
    await partner.register({ eventType: 'message.created', endPointUrl: relay.receiver.url(path), ...credential });
    await source.post({ id: randomUUID(), type: 'message.created', payload: {} });
    const { headers } = await until('it is delivered', () => relay.receiver.at(path)[0]);
    expect({ 'x-api-key': headers['x-api-key'], authorization: headers.authorization }).toEqual(expected);
  });

  it('signs so that standardwebhooks verifies it with the secret of the webhook', async () => {
    const url = relay.receiver.url('/signed');
    const webhook = await partner.register({ eventType: 'tax_return.filed', endPointUrl: url, apiKey: 'key' });
    const { json } = await partner.request('GET', `/webhooks/${webhook}/secret`);
    await source.post(awkward(randomUUID(), 'tax_return.filed'));
    const { body, headers } = await until('it is delivered', () => relay.receiver.at('/signed')[0]);
    const verifier = new Webhook(String(json['secret']));
    const signed = headers as Record<string, string>;
    expect(verifier.verify(body.toString(), signed)).toMatchObject({ type: 'tax_return.filed' });
    expect(() => verifier.verify(`${body.toString()} `, signed)).toThrow('No matching signature');
  });
});
