import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { AttemptRecord, deliveryAttemptsTopic } from '@relay/events';
import type { DeliveryJob } from '@relay/jobs';
import { Publisher } from '@relay/publishing';
import { DEFAULT_HORIZON_MS, RetryQueue } from '@relay/retry';
import type { Log, LogFields } from '@relay/telemetry';
import type { MemoryPublisher } from '@relay/testing';
import { Registry } from 'prom-client';
import { startSpecWorker, type SpecWorker } from '../spec-worker.js';
import { AttemptLog } from '../delivery/attempt-reports.js';
import { QueueConsumer } from './queue-consumer.js';

const HOUR = 3_600_000;
const TRACE = '0af7651916cd43dd8448eb211c80319c';
const topic = deliveryAttemptsTopic('');

describe('a queued delivery that ends', () => {
  let endpoint: Server;
  let worker: SpecWorker;
  let publisher: MemoryPublisher;
  let status: number;
  const said: [event: string, fields: LogFields | undefined][] = [];
  beforeAll(async () => {
    endpoint = createServer((_request, response) => response.writeHead(status).end()).listen(0, '127.0.0.1');
    await once(endpoint, 'listening');
    const say = (event: string, _text: string, fields?: LogFields): void => void said.push([event, fields]);
    const log: Log = { error: say, warn: say, info: say, debug: () => undefined };
    const { port } = endpoint.address() as AddressInfo;
    worker = await startSpecWorker(`http://127.0.0.1:${port}`, { RETRY_SCHEDULE: '1h' }, log);
    publisher = worker.app.get<Publisher, MemoryPublisher>(Publisher);
    publisher.createTopic(topic);
    worker.app.get(QueueConsumer).onApplicationBootstrap();
  });
  afterAll(async () => {
    await worker.close();
    endpoint.close();
    endpoint.closeAllConnections();
  });
  beforeEach(() => {
    status = 500;
    said.length = 0;
    worker.app.get(Registry).resetMetrics();
  });

  const aJob = (changes: Partial<DeliveryJob>): DeliveryJob => ({
    v: 1,
    webhookId: worker.webhookId,
    partnerId: 'p1',
    envelopeId: randomUUID(),
    eventType: 'task.created',
    hash: 'aaaaaaaaaaaaaaaa',
    series: 0,
    attempts: 0,
    acceptedAt: Date.now(),
    traceparent: `00-${TRACE}-b7ad6b7169203331-01`,
    body: '{}',
    ...changes,
  });

  const recordsOf = (envelopeId: string) => {
    const records = publisher.read(topic).map(({ value }) => AttemptRecord.parse(JSON.parse(value.toString())));
    return records.filter((record) => record.envelopeId === envelopeId);
  };

  /**
   * Queues it, loses what is stored of its body where that is told, and waits until all that was told before its end
   * is there.
   */
  async function end(job: DeliveryJob, losesBody = false): Promise<AttemptRecord[]> {
    await worker.app.get(RetryQueue).add({ job, at: Date.now() + (losesBody ? 500 : 0) });
    if (losesBody) await worker.redis.del(await worker.redis.keys('{relay:0}:body:*'));
    const isThere = (envelopeId: string) => recordsOf(envelopeId).some(({ final }) => final);
    while (!isThere(job.envelopeId)) await delay(20);
    while ((await worker.redis.llen('{relay:0}:deliveries:active')) > 0) await delay(20);
    const last = aJob({});
    worker.app.get(AttemptLog).ended(last, 'cancelled', 'the last of them');
    while (!isThere(last.envelopeId)) await delay(20);
    return recordsOf(job.envelopeId);
  }

  async function metric(name: string): Promise<Record<string, number>> {
    const { values } = (await worker.app.get(Registry).getSingleMetric(name)?.get()) ?? { values: [] };
    return Object.fromEntries(
      values.map(({ labels, value, ...of }) => [
        String(labels['outcome'] ?? ('metricName' in of ? of.metricName : name)),
        value,
      ]),
    );
  }

  const gone = randomUUID();
  it.each<[name: string, job: () => Partial<DeliveryJob>, outcome: string, event: string, attempt: number]>([
    ['with its last attempt', () => ({ attempts: 1 }), 'attempts_exhausted', 'delivery.dead', 2],
    [
      'with its first attempt, after which none fits into its time',
      () => ({ acceptedAt: Date.now() - DEFAULT_HORIZON_MS + HOUR / 2 }),
      'horizon_passed',
      'delivery.dead',
      1,
    ],
    [
      'before an attempt, since its time is over',
      () => ({ attempts: 1, acceptedAt: Date.now() - DEFAULT_HORIZON_MS - HOUR }),
      'horizon_passed',
      'delivery.dead',
      1,
    ],
    ['because Redis has lost its body', () => ({ body: 'x'.repeat(5_000) }), 'handling_failed', 'delivery.dead', 0],
    ['because its webhook was deleted', () => ({ webhookId: gone, attempts: 1 }), 'cancelled', 'delivery.cancelled', 1],
  ])('%s is counted, reported and logged once, with its ids', async (_name, changes, outcome, event, attempt) => {
    const job = aJob(changes());
    const records = await end(job, outcome === 'handling_failed');
    expect(records.filter(({ final }) => final)).toHaveLength(1);
    expect(await metric('relay_deliveries_total')).toEqual({ [outcome]: 1 });
    const { envelopeId, webhookId } = job;
    const ids = { envelopeId, webhookId, attempt, traceId: TRACE };
    const isAboutIt = ([, fields]: (typeof said)[number]): boolean => fields?.['envelopeId'] === envelopeId;
    expect(said.filter(isAboutIt)).toEqual([[event, expect.objectContaining(ids)]]);
  });

  it.each<[name: string, job: () => Partial<DeliveryJob>, count: number, hours: number]>([
    ['from when it was accepted', () => ({ acceptedAt: Date.now() - HOUR }), 1, 1],
    [
      'from when it was accepted, though its time began later',
      () => ({ waitedSince: Date.now() - 100 * HOUR }),
      1,
      100,
    ],
    ['not at all where it is of a replay', () => ({ series: 1, waitedSince: Date.now() - 100 * HOUR }), 0, 0],
  ])('delivered has its latency measured %s', async (_name, changes, count, hours) => {
    status = 204;
    await end(aJob(changes()));
    const seen = await metric('relay_end_to_end_latency_seconds');
    expect(seen['relay_end_to_end_latency_seconds_count'] ?? 0).toBe(count);
    expect(Math.round((seen['relay_end_to_end_latency_seconds_sum'] ?? 0) / 3_600)).toBe(hours);
  });
});
