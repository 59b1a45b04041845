import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { jest } from '@jest/globals';
import { App } from '../support/app.js';
import { anEnvelope, Client } from '../support/client.js';
import { FETCH, HEARTBEAT, KafkaProxy } from '../support/kafka-proxy.js';
import { Receiver } from '../support/receiver.js';
import { Stack } from '../support/stack.js';
import { until } from '../support/until.js';

jest.setTimeout(180_000);

const redirect = pathToFileURL(join(import.meta.dirname, '..', 'faults', 'redirect.mjs')).href;

let stack: Stack;
let proxy: KafkaProxy;
let ingress: App;
let worker: App;
let receiver: Receiver;
beforeAll(async () => {
  stack = await Stack.open();
  const [host = '', port = ''] = (stack.env['KAFKA_BROKERS'] ?? '').split(':');
  proxy = new KafkaProxy({ host, port: Number(port) });
  await proxy.open();
  const through = { nodeOptions: ['--import', redirect], env: { REDIRECT: `${port}:${proxy.port}` } };
  [ingress, worker, receiver] = await Promise.all([
    App.start('ingress', stack.env),
    App.start('worker', stack.env, through),
    Receiver.open(),
  ]);
});
afterAll(async () => {
  proxy?.leaveUnanswered();
  await Promise.all([ingress?.stop(), worker?.stop()]);
  await receiver?.close();
  await proxy?.close();
  await stack?.close();
});

async function client(...args: string[]): Promise<Client> {
  const { clientId, clientSecret } = (await stack.relay(...args)) as { clientId: string; clientSecret: string };
  return new Client(ingress.url, clientId, clientSecret);
}

describe('/health/ready of a worker', () => {
  it.each([
    ['heartbeats', [HEARTBEAT]],
    ['fetches', [FETCH]],
    ['fetches and heartbeats', [FETCH, HEARTBEAT]],
  ])('tells within 30 s that its consumer gets no answer to its %s, and that it goes on', async (what, apiKeys) => {
    const path = `/${what.replaceAll(' ', '-')}`;
    const eventType = 'task.created';
    const partner = await client('partners', 'create', 'acme');
    const source = await client('sources', 'create', 'billing');
    await partner.register({ eventType, endPointUrl: receiver.url(path), apiKey: 'key' });

    proxy.leaveUnanswered(...apiKeys);
    const health = () => worker.health();
    await until('the worker is not ready', async () => (await health())?.status === 'unavailable', {
      withinMs: 30_000,
      seen: health,
    });
    const faults = Object.keys((await health())?.faults ?? {});
    expect(['log', 'consumer']).toEqual(expect.arrayContaining(faults.filter((fault) => fault !== 'registry')));
    expect((await ingress.health())?.status).toBe('ok');
    const envelope = anEnvelope();
    expect((await source.post(envelope)).status).toBe(202);

    proxy.leaveUnanswered();
    await until('the worker is ready again', async () => (await health())?.status === 'ok', {
      withinMs: 60_000,
      seen: health,
    });
    await until('what came meanwhile is delivered', () => receiver.delivered(path).includes(envelope.id), {
      withinMs: 30_000,
    });
  });
});
