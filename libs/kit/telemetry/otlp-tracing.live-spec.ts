import { setTimeout as delay } from 'node:timers/promises';
import { parseEnv, telemetryEnv } from '@relay/config';
import { freePort, SpanCollector } from '@relay/testing';
import { z } from 'zod';
import type { Log, LogFields } from './log.js';
import { openTracing } from './open-tracing.js';
import type { Tracing } from './tracing.port.js';

const PARENT = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
const UNSAMPLED = `${PARENT.slice(0, -1)}0`;

let collector: SpanCollector;
let told: [event: string, fields: LogFields | undefined][];
const none = (): void => undefined;
const log: Log = { error: none, info: none, debug: none, warn: (event, _, fields) => told.push([event, fields]) };

async function open(env: Record<string, string> = {}): Promise<Tracing> {
  const given = { OTEL_EXPORTER_OTLP_ENDPOINT: `${collector.url}/`, ...env };
  const tracing = await openTracing(
    parseEnv(z.object(telemetryEnv), given, () => ''),
    'a-role',
    log,
  );
  if (tracing === undefined) throw new Error('it is not configured');
  return tracing;
}

/** What was collected of one span under this parent. */
async function spansUnder(parent: string | undefined, env: Record<string, string> = {}) {
  const tracing = await open(env);
  const { traceparent } = start(tracing, parent);
  await tracing.close();
  return { traceparent, spans: collector.spans };
}

function start(tracing: Tracing, parent?: string) {
  const span = tracing.start('POST', 'client', parent, { 'relay.attempt': 2 });
  span.end({ 'relay.outcome': 'failed' }, 'reset');
  return span;
}

beforeEach(async () => {
  collector = await SpanCollector.open();
  told = [];
});
afterEach(() => collector.close());

describe('spans over OTLP', () => {
  it('have their parent, the attributes of their end, and the configured resource', async () => {
    const env = {
      OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20collector-secret, x-tenant=a',
      OTEL_RESOURCE_ATTRIBUTES: 'service.name=other,team=caf%C3%A9',
    };
    const { traceparent, spans } = await spansUnder(PARENT, env);
    const [traceId, parentId] = [PARENT.slice(3, 35), PARENT.slice(36, 52)];
    expect(spans).toEqual([
      {
        service: 'other',
        traceId,
        spanId: traceparent.slice(36, 52),
        parentId,
        name: 'POST',
        kind: 'client',
        attributes: { 'relay.attempt': 2, 'relay.outcome': 'failed', 'error.type': 'reset' },
        isError: true,
      },
    ]);
    expect(traceparent).toMatch(new RegExp(`^00-${traceId}-[0-9a-f]{16}-01$`));
    expect(collector.exports[0]).toMatchObject({
      path: '/v1/traces',
      headers: { authorization: 'Bearer collector-secret', 'x-tenant': 'a', 'content-type': 'application/x-protobuf' },
    });
    expect(collector.bytes.includes('café')).toBe(true);
    expect(told).toEqual([]);
  });

  it.each([
    [PARENT, {}, 1],
    [UNSAMPLED, {}, 0],
    [undefined, {}, 1],
    [UNSAMPLED, { OTEL_TRACES_SAMPLER: 'always_on' }, 1],
    [PARENT, { OTEL_TRACES_SAMPLER: 'always_off' }, 0],
    [PARENT, { OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '0' }, 0],
    [PARENT, { OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: '0' }, 1],
    [undefined, { OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: '0' }, 0],
    [undefined, { OTEL_TRACES_SAMPLER: 'parentbased_always_off' }, 0],
  ])('under %s with %j are %i, and calls carry that decision', async (parent, env, count) => {
    const { traceparent, spans } = await spansUnder(parent, env);
    expect(spans).toHaveLength(count);
    const traceId = parent?.slice(3, 35) ?? '[0-9a-f]{32}';
    expect(traceparent).toMatch(new RegExp(`^00-${traceId}-[0-9a-f]{16}-0${count}$`));
  });

  it.each([
    ['answers 500', 500, '500 Internal Server Error'],
    ['hangs', 'hang', 'the last spans were not taken within 1500 ms'],
  ] as const)('are dropped and told of when the collector %s, and closing ends', async (_, answer, reason) => {
    collector.answer = answer;
    const tracing = await open();
    for (let n = 0; n < 20_000; n += 1) start(tracing);
    await tracing.close();
    expect(told.map(([event]) => event)).toEqual(['tracing.fault']);
    expect(told[0]?.[1]).toMatchObject({ reason });
    // 8,192 that waited, and a batch that was on its way.
    expect(collector.spans.length).toBeLessThanOrEqual(8_192 + 512);
  });

  it('log how many were dropped because the collector took none', async () => {
    const tracing = await open();
    for (let n = 0; n < 10_000; n += 1) start(tracing);
    while (collector.spans.length < 8_192) await delay(250);
    start(tracing);
    await tracing.close();
    // On a busy machine an export may time out too.
    expect(told.map(([, fields]) => fields?.['reason'])).toContainEqual(expect.stringMatching(/^Dropped \d{4} spans/));
  });

  it('are reported as lost when nothing listens at the collector', async () => {
    const tracing = await open({ OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${await freePort()}` });
    start(tracing);
    await tracing.close();
    expect(told.map(([event]) => event)).toEqual(['tracing.fault']);
  });
});
