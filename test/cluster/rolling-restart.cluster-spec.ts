import { setTimeout as delay } from 'node:timers/promises';
import { jest } from '@jest/globals';
import { App } from '../support/app.js';
import { anEnvelope, Client } from '../support/client.js';
import { LoadBalancer } from '../support/load-balancer.js';
import { Receiver } from '../support/receiver.js';
import { Servers } from '../support/servers.js';
import { Stack } from '../support/stack.js';
import { print, tally } from '../support/tally.js';
import { until } from '../support/until.js';

jest.setTimeout(300_000);

const PER_SECOND = 200;
/** What a load balancer takes to see that an ingress is not ready: `preStopSeconds` of the chart. */
const READINESS_DELAY_MS = 1_000;

let servers: Servers;
let stack: Stack;
let receiver: Receiver;
let balancer: LoadBalancer;
let ingresses: App<'ingress'>[];
let workers: App<'worker'>[];
beforeAll(async () => {
  servers = await Servers.start(undefined, true);
  stack = await Stack.open({ KAFKA_TOPIC_REPLICATION: '3' }, servers.envFile);
  ingresses = await Promise.all([0, 1].map(() => App.start('ingress', stack.env)));
  workers = await Promise.all([0, 1, 2].map(() => App.start('worker', stack.env)));
  receiver = await Receiver.open();
  balancer = await LoadBalancer.before(ingresses);
});
afterAll(async () => {
  await balancer?.close();
  await Promise.all([...(ingresses ?? []), ...(workers ?? [])].map((app) => app.stop()));
  await receiver?.close();
  await stack?.close();
  await servers?.end();
});

async function client(kind: 'partners' | 'sources', name: string): Promise<Client> {
  const { clientId, clientSecret } = (await stack.relay(kind, 'create', name)) as Record<string, string>;
  return new Client(balancer.url, clientId ?? '', clientSecret ?? '');
}

/** Posts at a steady rate until it is told to end. @returns the ids that were answered 202, and every other answer */
function load(source: Client): () => Promise<{ accepted: Set<string>; failed: string[] }> {
  const accepted = new Set<string>();
  const failed: string[] = [];
  const ending = new AbortController();
  const post = async (): Promise<void> => {
    const envelope = anEnvelope();
    const answer = await source.post(envelope).catch(String);
    if (typeof answer !== 'string' && answer.status === 202) accepted.add(envelope.id);
    else failed.push(typeof answer === 'string' ? answer : `${answer.status} ${answer.text}`);
  };
  const running = (async () => {
    const posts: Promise<void>[] = [];
    for (let due = performance.now(); !ending.signal.aborted; due += 1_000 / PER_SECOND) {
      posts.push(post());
      await delay(Math.max(0, due - performance.now()));
    }
    await Promise.all(posts);
  })();
  return async () => {
    ending.abort();
    await running;
    return { accepted, failed };
  };
}

it('of every role under load fails no request after the readiness delay, and loses nothing', async () => {
  const [partner, source] = await Promise.all([client('partners', 'acme'), client('sources', 'billing')]);
  receiver.decide('/hook', () => ({ status: 204, delayMs: 5 }));
  await partner.register({ eventType: 'task.created', endPointUrl: receiver.url('/hook'), apiKey: 'key' });
  const end = load(source);
  await until('deliveries run', () => receiver.delivered('/hook').length > PER_SECOND);
  for (const [index, ingress] of ingresses.entries()) {
    await balancer.rest(index);
    await delay(READINESS_DELAY_MS);
    expect(await ingress.stop()).toBe(0);
    ingress.start();
    await ingress.ready();
    await balancer.serve(index);
  }
  for (const worker of workers) {
    expect(await worker.stop()).toBe(0);
    worker.start();
    await worker.ready();
  }
  const { accepted, failed } = await end();
  expect(failed).toEqual([]);
  const counts = () => tally(accepted, receiver.delivered('/hook'));
  await until('all of them are delivered', () => counts().lost === 0, { withinMs: 60_000, seen: counts });
  print('rolling restart of 2 ingresses and 3 workers', { ...counts() });
});
