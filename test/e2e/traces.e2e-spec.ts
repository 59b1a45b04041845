import { randomBytes, randomUUID } from 'node:crypto';
import { connect } from 'node:net';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { SpanCollector, type CollectedSpan } from '@relay/testing';
import { Canaries } from '../support/canaries.js';
import { anEnvelope, type Client } from '../support/client.js';
import { Relay } from '../support/relay.js';
import { until } from '../support/until.js';

const aTrace = (): string => randomBytes(16).toString('hex');
const SENDER = '00f067aa0ba902b7';

describe('with a collector', () => {
  let collector: SpanCollector;
  let relay: Relay;
  let partner: Client;
  let source: Client;
  const canaries = new Canaries();
  const canary = (name: string): string => {
    const secret = `canary-${name}-${randomBytes(12).toString('hex')}`;
    canaries.plant(`${name} ${canaries.names.length}`, secret);
    return secret;
  };
  const folder = mkdtempSync(join(tmpdir(), 'relay-traces-'));
  const collectorToken = canary('collector');

  beforeAll(async () => {
    collector = await SpanCollector.open();
    const headersFile = join(folder, 'headers');
    writeFileSync(headersFile, `authorization=Bearer%20${collectorToken}\n`);
    relay = await Relay.start({
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_EXPORTER_OTLP_HEADERS_FILE: headersFile,
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
      RETRY_SCHEDULE: '300ms',
      LOG_LEVEL: 'trace',
    });
    [partner, source] = await Promise.all([relay.partner(), relay.source()]);
    canaries.plant('partner secret', partner.clientSecret);
    canaries.plant('source secret', source.clientSecret);
    canaries.plant('source token', await source.token());
  });
  afterAll(async () => {
    await relay.close();
    await collector.close();
    rmSync(folder, { recursive: true });
  });

  /** Registers an endpoint whose path, query and credential nobody else may see. */
  async function endpoint(eventType: string): Promise<{ webhookId: string; path: string; port: number }> {
    const path = `/${canary('path')}?key=${canary('query')}`;
    const endPointUrl = relay.receiver.url(path);
    const webhookId = await partner.register({ eventType, endPointUrl, apiKey: canary('api-key') });
    return { webhookId, path, port: Number(new URL(endPointUrl).port) };
  }
  const spansOf = (trace: string, count: number): Promise<CollectedSpan[]> =>
    until(`${count} spans are collected`, () => collector.of(trace).length >= count && collector.of(trace), {
      seen: () => collector.of(trace),
    });
  const headersAt = (path: string) =>
    until('it is delivered', () => relay.receiver.at(path)[0]?.headers, { seen: () => relay.worker.log.slice(-5) });

  it('tells the request, the record and the attempt, each under the one before, and the endpoint is told the attempt', async () => {
    const trace = aTrace();
    const { webhookId, path, port } = await endpoint('task.created');
    const envelope = anEnvelope({ type: 'task.created', payload: { id: randomUUID(), text: canary('payload') } });
    await source.post(envelope, { traceparent: `00-${trace}-${SENDER}-01` });
    const headers = await headersAt(path);
    const spans = await spansOf(trace, 3);
    const [server, producer, client] = ['server', 'producer', 'client'].map((kind) =>
      spans.find((span) => span.kind === kind),
    );
    const topic = `${relay.stack.env['KAFKA_TOPIC_PREFIX']}task.created`;
    expect(spans).toHaveLength(3);
    expect(server).toMatchObject({
      service: 'partner-relay-ingress',
      name: 'POST /deliveries',
      parentId: SENDER,
      attributes: {
        'http.request.method': 'POST',
        'http.route': '/deliveries',
        'http.response.status_code': 202,
      },
      isError: false,
    });
    expect(producer).toMatchObject({
      service: 'partner-relay-ingress',
      name: `send ${topic}`,
      parentId: server?.spanId,
      attributes: {
        'messaging.system': 'kafka',
        'messaging.destination.name': topic,
        'messaging.message.id': envelope.id,
        'relay.event_type': 'task.created',
      },
      isError: false,
    });
    expect(client).toMatchObject({
      service: 'partner-relay-worker',
      name: 'POST',
      parentId: producer?.spanId,
      attributes: {
        'http.request.method': 'POST',
        'http.response.status_code': 204,
        'server.address': '127.0.0.1',
        'server.port': port,
        'relay.envelope_id': envelope.id,
        'relay.webhook_id': webhookId,
        'relay.event_type': 'task.created',
        'relay.attempt': 1,
        'relay.outcome': 'delivered',
      },
      isError: false,
    });
    expect(headers['traceparent']).toBe(`00-${trace}-${client?.spanId}-01`);
    const [record] = await relay.stack.topic('task.created').read();
    expect(record?.headers['traceparent']).toBe(`00-${trace}-${producer?.spanId}-01`);
    expect(collector.exports[0]?.headers).toMatchObject({ authorization: `Bearer ${collectorToken}` });
    expect(collector.bytes.includes('deployment.environment.name')).toBe(true);
  });

  it('tells every failed attempt with its number and what was wrong, under the same record', async () => {
    const trace = aTrace();
    const { path } = await endpoint('plan.created');
    relay.receiver.plan(path, { status: 500 }, 'reset');
    await source.post(anEnvelope({ type: 'plan.created' }), { traceparent: `00-${trace}-${SENDER}-01` });
    const spans = await spansOf(trace, 4);
    const attempts = spans.filter(({ kind }) => kind === 'client');
    expect(new Set(attempts.map(({ parentId }) => parentId)).size).toBe(1);
    expect(
      attempts.map(({ attributes, isError }) => [attributes['relay.attempt'], attributes['error.type'], isError]),
    ).toEqual([
      [1, '500', true],
      [2, 'reset', true],
    ]);
  });

  it('tells nothing of a trace that its sender does not sample, and the endpoint is told so', async () => {
    const trace = aTrace();
    const { path } = await endpoint('plan.completed');
    await source.post(anEnvelope({ type: 'plan.completed' }), { traceparent: `00-${trace}-${SENDER}-00` });
    expect((await headersAt(path))['traceparent']).toMatch(new RegExp(`^00-${trace}-[0-9a-f]{16}-00$`));
    // What ended after it is there.
    const next = aTrace();
    await source.post(anEnvelope({ type: 'plan.completed' }), { traceparent: `00-${next}-${SENDER}-01` });
    await spansOf(next, 3);
    expect(collector.of(trace)).toEqual([]);
  });

  it('tells a span for each envelope of a batch, and of a request without a trace', async () => {
    const batch = [anEnvelope(), anEnvelope()];
    await source.request('POST', '/deliveries/batch', batch);
    const isOne = ({ attributes }: CollectedSpan): boolean =>
      batch.some(({ id }) => id === attributes['messaging.message.id']);
    const records = await until('both are told', () => {
      const found = collector.spans.filter(isOne);
      return found.length === 2 && found;
    });
    expect(new Set(records.map(({ traceId }) => traceId)).size).toBe(1);
    const spans = collector.of(records[0]?.traceId ?? '');
    expect(spans.find(({ kind }) => kind === 'server')).toMatchObject({ name: 'POST /deliveries/batch', parentId: '' });
  });

  it('tells of a request that was refused', async () => {
    const trace = aTrace();
    const refused = await source.request(
      'POST',
      '/deliveries',
      { id: 'x' },
      { traceparent: `00-${trace}-${SENDER}-01` },
    );
    expect(refused.status).toBe(400);
    const [span] = await spansOf(trace, 1);
    expect(span).toMatchObject({ kind: 'server', attributes: { 'http.response.status_code': 400 }, isError: false });
  });

  it('tells of a request whose sender went away in the middle', async () => {
    const trace = aTrace();
    const socket = connect(relay.ingress.port, '127.0.0.1');
    const head = `POST /deliveries HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 100\r\n`;
    socket.write(
      `${head}authorization: Bearer ${await source.token()}\r\ntraceparent: 00-${trace}-${SENDER}-01\r\n\r\n{"id":`,
    );
    await delay(500);
    socket.destroy();
    expect(await spansOf(trace, 1)).toEqual([
      expect.objectContaining({ attributes: expect.objectContaining({ 'error.type': 'aborted' }), isError: true }),
    ]);
  });

  it('tells of a test delivery in a trace of its own', async () => {
    const { webhookId, path } = await endpoint('notification.completed');
    expect((await partner.request('POST', `/webhooks/${webhookId}/test`)).status).toBe(200);
    const trace = String((await headersAt(path))['traceparent']).slice(3, 35);
    expect(await spansOf(trace, 1)).toEqual([
      expect.objectContaining({
        service: 'partner-relay-ingress',
        parentId: '',
        attributes: expect.objectContaining({ 'relay.test': 1, 'relay.webhook_id': webhookId }),
      }),
    ]);
  });

  it('sends what is left when a process stops, and nothing that is secret', async () => {
    const trace = aTrace();
    const { path } = await endpoint('task.updated');
    const envelope = anEnvelope({ type: 'task.updated' });
    await source.post(envelope, { traceparent: `00-${trace}-${SENDER}-01` });
    await headersAt(path);
    await Promise.all([relay.ingress.stop(), relay.worker.stop()]);
    expect(collector.of(trace)).toHaveLength(3);
    expect(canaries.names.length).toBeGreaterThan(10);
    expect(canaries.in(collector.bytes)).toEqual([]);
    const lines = [...relay.ingress.log, ...relay.worker.log].join('\n');
    expect(canaries.in(lines)).toEqual([]);
    expect(lines).not.toContain('tracing.fault');
  });
});
