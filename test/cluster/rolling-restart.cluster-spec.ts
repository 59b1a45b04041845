import { setTimeout as delay } from 'node:timers/promises';
import { App } from '../support/app.js';
import { anEnvelope, Client } from '../support/client.js';
import { LoadBalancer } from '../support/load-balancer.js';
import { Receiver } from '../support/receiver.js';
import { Servers } from '../support/servers.js';
import { Stack } from '../support/stack.js';
import { print, tally } from '../support/tally.js';
import { until } from '../support/until.js';

const PER_SECOND = 200;
const LOOKS_PER_SECOND = 10;
/** What a load balancer takes to see that a process gets no more requests: `preStopSeconds` of the chart. */
const READINESS_DELAY_MS = 1_000;

let servers: Servers;
let stack: Stack;
let receiver: Receiver;
let balancer: LoadBalancer;
let operatorsBalancer: LoadBalancer;
let ingresses: App<'ingress'>[];
let workers: App<'worker'>[];
let operations: App<'operations'>[];
beforeAll(async () => {
  servers = await Servers.start(undefined, true);
  stack = await Stack.open({ KAFKA_TOPIC_REPLICATION: '3' }, servers.envFile);
  ingresses = await Promise.all([0, 1].map(() => App.start('ingress', stack.env)));
  workers = await Promise.all([0, 1, 2].map(() => App.start('worker', stack.env)));
  operations = await Promise.all([0, 1].map(() => App.start('operations', stack.env)));
  receiver = await Receiver.open();
  balancer = await LoadBalancer.before(ingresses);
  operatorsBalancer = await LoadBalancer.before(operations);
});
afterAll(async () => {
  await Promise.all([balancer?.close(), operatorsBalancer?.close()]);
  await Promise.all([...(ingresses ?? []), ...(workers ?? []), ...(operations ?? [])].map((app) => app.stop()));
  await receiver?.close();
  await stack?.close();
  await servers?.end();
});

async function client(kind: 'partner' | 'source', name: string): Promise<Client> {
  const { clientId, clientSecret } = (await stack.client(kind, name)) as Record<string, string>;
  return new Client(balancer.url, clientId ?? '', clientSecret ?? '');
}

interface Asked {
  readonly accepted: Set<string>;
  /** Every other answer, and every request without one. */
  readonly failed: string[];
}

/** Asks at a steady rate until it is told to end; `ask` says what it found wrong. */
function steadily(perSecond: number, ask: () => Promise<string | undefined>): () => Promise<string[]> {
  const failed: string[] = [];
  const ending = new AbortController();
  const running = (async () => {
    const asked: Promise<unknown>[] = [];
    for (let due = performance.now(); !ending.signal.aborted; due += 1_000 / perSecond) {
      asked.push(
        ask().then(
          (fault) => fault === undefined || failed.push(fault),
          (error: unknown) => failed.push(String(error)),
        ),
      );
      await delay(Math.max(0, due - performance.now()));
    }
    await Promise.all(asked);
  })();
  return async () => {
    ending.abort();
    await running;
    return failed;
  };
}

/** Posts until it is told to end. @returns the ids that were answered 202, and every other answer */
function load(source: Client): () => Promise<Asked> {
  const accepted = new Set<string>();
  const end = steadily(PER_SECOND, async () => {
    const envelope = anEnvelope();
    const { status, text } = await source.post(envelope);
    if (status !== 202) return `${status} ${text}`;
    accepted.add(envelope.id);
    return undefined;
  });
  return async () => ({ failed: await end(), accepted });
}

/** Looks at the dead letters as an operator does, until it is told to end. */
async function operator(): Promise<() => Promise<string[]>> {
  const { clientId, clientSecret } = (await stack.client('operator', 'night', '--role', 'admin')) as Record<
    string,
    string
  >;
  const authorization = `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}`;
  return steadily(LOOKS_PER_SECOND, async () => {
    const answer = await fetch(`${operatorsBalancer.url}/dead-letters`, { headers: { authorization } });
    const text = await answer.text();
    return answer.status === 200 ? undefined : `${answer.status} ${text}`;
  });
}

it('a rolling restart of every role under load fails no request after the readiness delay, and loses nothing', async () => {
  const [partner, source] = await Promise.all([client('partner', 'acme'), client('source', 'billing')]);
  receiver.decide('/hook', () => ({ status: 204, delayMs: 5 }));
  await partner.register({ eventType: 'task.created', endPointUrl: receiver.url('/hook'), apiKey: 'key' });
  const [end, endLooks] = [load(source), await operator()];
  await until('deliveries run', () => receiver.delivered('/hook').length > PER_SECOND);
  for (const [apps, before] of [
    [ingresses, balancer],
    [operations, operatorsBalancer],
  ] as const)
    for (const [index, app] of apps.entries()) {
      await before.rest(index);
      await delay(READINESS_DELAY_MS);
      expect(await app.stop()).toBe(0);
      app.start();
      await app.ready();
      await before.serve(index);
    }
  for (const worker of workers) {
    expect(await worker.stop()).toBe(0);
    worker.start();
    await worker.ready();
  }
  const [{ accepted, failed }, failedLooks] = await Promise.all([end(), endLooks()]);
  expect({ failed, failedLooks }).toEqual({ failed: [], failedLooks: [] });
  const counts = () => tally(accepted, receiver.delivered('/hook'));
  await until('all of them are delivered', () => counts().lost === 0, { withinMs: 60_000, seen: counts });
  print('rolling restart of 2 ingresses, 2 of operations and 3 workers', { ...counts() });
});
