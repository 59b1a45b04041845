import { setTimeout as delay } from 'node:timers/promises';
import { App } from '../support/app.js';
import { anEnvelope, call, Client } from '../support/client.js';
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
  /** 99th percentiles of the time in ms from a post to its 202: of all posts, and of the worst ten seconds. */
  readonly p99Ms: number;
  readonly worstP99Ms: number;
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

const p99Of = (tookMs: readonly number[]): number =>
  Math.round(tookMs.toSorted((a, b) => a - b)[Math.floor(tookMs.length * 0.99)] ?? 0);

/** Posts until it is told to end. @returns the ids that were answered 202, and every other answer */
function load(source: Client): () => Promise<Asked> {
  const accepted = new Set<string>();
  const tookMs: number[] = []; // in the order of the posts
  let posts = 0;
  const end = steadily(PER_SECOND, async () => {
    const envelope = anEnvelope();
    const [since, post] = [performance.now(), posts];
    posts += 1;
    const { status, text } = await source.post(envelope);
    if (status !== 202) return `${status} ${text}`;
    accepted.add(envelope.id);
    tookMs[post] = performance.now() - since;
    return undefined;
  });
  return async () => {
    const failed = await end();
    return {
      failed,
      accepted,
      p99Ms: p99Of(tookMs),
      worstP99Ms: Math.max(
        ...Array.from({ length: Math.ceil(tookMs.length / PER_SECOND) }, (_, second) =>
          p99Of(tookMs.slice(second * PER_SECOND, (second + 10) * PER_SECOND)),
        ),
      ),
    };
  };
}

/** @returns the credential of an operator who may do anything, as a header */
async function operatorHeader(name: string): Promise<string> {
  const { clientId, clientSecret } = await stack.client('operator', name, '--role', 'admin');
  return `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}`;
}

/** Looks at the dead letters as an operator does, until it is told to end. */
async function operator(): Promise<() => Promise<string[]>> {
  const authorization = await operatorHeader('night');
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
  const failedLooks = await endLooks();
  const { accepted, failed, p99Ms, worstP99Ms } = await end();
  expect({ failed, failedLooks }).toEqual({ failed: [], failedLooks: [] });
  const counts = () => tally(accepted, receiver.delivered('/hook'));
  await until('all of them are delivered', () => counts().lost === 0, { withinMs: 60_000, seen: counts });
  print('rolling restart of 2 ingresses, 2 of operations and 3 workers', { ...counts(), p99Ms, worstP99Ms });
});

it('50 event types are applied under load while a worker is killed: nothing is lost', async () => {
  const [partner, source] = await Promise.all([client('partner', 'orders'), client('source', 'orders')]);
  await partner.register({ eventType: 'task.created', endPointUrl: receiver.url('/types'), apiKey: 'key' });
  const authorization = await operatorHeader('types');
  const end = load(source);
  await until('deliveries run', () => receiver.delivered('/types').length > PER_SECOND);
  const types = Array.from({ length: 50 }, (_, n) => [`applied.type-${n}`, {}]);
  const { status } = await call('POST', `${operations[0]?.url}/event-types/apply`, {
    headers: { authorization },
    body: { eventTypes: Object.fromEntries(types) },
  });
  expect(status).toBe(200);
  const webhook = { eventType: 'applied.type-49', endPointUrl: receiver.url('/last'), apiKey: 'key' };
  const registered = async () => (await partner.request('POST', '/webhooks', webhook)).status === 201;
  await until('an ingress knows the types', registered);
  await workers[0]?.kill();
  workers[0]?.start();
  await workers[0]?.ready();
  const last = anEnvelope({ type: 'applied.type-49' });
  await until('the last type is accepted', async () => (await source.post(last)).status === 202);
  await until('it is delivered', () => receiver.delivered('/last').includes(last.id));
  const { accepted, failed, p99Ms, worstP99Ms } = await end();
  expect(failed).toEqual([]);
  const counts = () => tally(accepted, receiver.delivered('/types'));
  await until('all of them are delivered', () => counts().lost === 0, { withinMs: 60_000, seen: counts });
  print('50 event types applied, a worker killed', { ...counts(), p99Ms, worstP99Ms });
});
