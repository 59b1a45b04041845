import { randomUUID } from 'node:crypto';
import kafkajs from 'kafkajs';
import { App } from '../support/app.js';
import { anEnvelope } from '../support/client.js';
import { Relay } from '../support/relay.js';
import { Servers } from '../support/servers.js';
import { until } from '../support/until.js';

let servers: Servers;
let relay: Relay;
let operations: App<'operations'>;
beforeAll(async () => {
  servers = await Servers.start();
  relay = await Relay.start({}, servers.envFile);
  operations = await App.start('operations', relay.stack.env);
});
afterAll(async () => {
  await operations?.stop();
  await relay.close();
  await servers.end();
});

type Probed = Pick<App, 'role' | 'health'>;
const apps = (): Probed[] => [relay.ingress, relay.worker, operations as unknown as Probed];
const seen = (): Promise<unknown> =>
  Promise.all(apps().map(async (app) => ({ role: app.role, health: await app.health() })));

/** Each role says that it is not ready and names this, within the 30 s that an operator may be left in the dark. */
async function isTold(named: RegExp): Promise<void> {
  const told = new Set<string>();
  const look = async (app: Probed): Promise<void> => {
    const { status, faults = {} } = (await app.health()) ?? {};
    if (status !== 'ok' && named.test(Object.keys(faults).join(' '))) told.add(app.role);
  };
  const isEach = async (): Promise<boolean> => (await Promise.all(apps().map(look))).length === told.size;
  await until(`each role names ${named.source}`, isEach, { withinMs: 30_000, seen });
}

const areReady = async (): Promise<boolean> =>
  (await Promise.all(apps().map(async (app) => (await app.health())?.status === 'ok'))).every(Boolean);
const readyAgain = (): Promise<unknown> => until('each role is ready again', areReady, { withinMs: 60_000, seen });

it('a worker looks again at what Redis may evict and at its topics, and tells the operator', async () => {
  const { stack, worker } = relay;
  const resources = [
    {
      type: kafkajs.ConfigResourceTypes.TOPIC,
      name: stack.topic('task.created').name,
      configEntries: [{ name: 'max.message.bytes', value: '100000' }],
    },
  ];
  await stack.redis.config('SET', 'maxmemory-policy', 'allkeys-lru');
  await stack.admin.alterConfigs({ validateOnly: false, resources });
  const isBroken = (metrics: string, condition: string): boolean =>
    metrics.includes(`relay_condition_broken{condition="${condition}"} 1`);
  try {
    const tellsBoth = async (): Promise<boolean> => {
      const [health, metrics] = await Promise.all([worker.health(), worker.metrics()]);
      const named = ['redis memory', 'topic settings'].every((condition) => isBroken(metrics, condition));
      return named && /noeviction/.test(health?.faults['conditions'] ?? '');
    };
    await until('the worker tells both', tellsBoth, { withinMs: 90_000, seen });
  } finally {
    await stack.redis.config('SET', 'maxmemory-policy', 'noeviction');
  }
  const isReady = async (): Promise<boolean> => (await worker.health())?.status === 'ok';
  await until('the worker is ready again', isReady, { withinMs: 90_000, seen });
});

it('an ingress says that a topic refuses an envelope, and at its start that the topic will, and serves', async () => {
  const { ingress } = relay;
  const source = await relay.source();
  const large = anEnvelope({ payload: { text: 'x'.repeat(200_000) } });
  expect(await source.post(large)).toMatchObject({ status: 503 });
  expect(ingress.log.find((line) => line.includes('topic.refused'))).toMatch(/"bytes":200\d{3}/);
  const batch = await source.request('POST', '/deliveries/batch', [
    anEnvelope(),
    { ...large, id: randomUUID() },
    anEnvelope(),
  ]);
  const statuses = batch.json['results']?.map(({ status }) => status);
  expect(statuses).toEqual(['accepted', 'unavailable', 'accepted']);
  await ingress.stop();
  ingress.start();
  await ingress.ready();
  expect(ingress.log.find((line) => line.includes('topics.fault'))).toContain('max.message.bytes=100000');
  expect((await source.post(anEnvelope())).status).toBe(202);
});

describe('/health/ready of each role', () => {
  it.each(['redis', 'kafka'] as const)('tells within 30 s that %s was killed, and that it is back', async (service) => {
    servers.kill(service);
    try {
      await isTold(service === 'redis' ? /redis/ : /kafka|publisher|log/);
    } finally {
      await servers.bringUp();
    }
    expect(await readyAgain()).toBe(true);
  });

  it.each(['redis', 'kafka'] as const)(
    'tells within 30 s that %s answers nothing, and that it does again',
    async (service) => {
      servers.freeze(service);
      try {
        await isTold(/./);
      } finally {
        servers.thaw(service);
      }
      expect(await readyAgain()).toBe(true);
    },
  );
});
