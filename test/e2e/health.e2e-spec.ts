import { App } from '../support/app.js';
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

/** What each role names as at fault, once all of them do; within the 30 s that an operator may be left in the dark. */
async function faultsOf(): Promise<Record<string, string>> {
  const named: Record<string, string> = {};
  const isNamed = async (app: Probed): Promise<boolean> => {
    const health = await app.health();
    if (health?.status === 'ok') return false;
    named[app.role] ??= Object.keys(health?.faults ?? {}).join(' ');
    return true;
  };
  const isEach = async (): Promise<boolean> => (await Promise.all(apps().map(isNamed))).every(Boolean);
  await until('no role says that it is ready', isEach, { withinMs: 30_000, seen });
  return named;
}

const areReady = async (): Promise<boolean> =>
  (await Promise.all(apps().map(async (app) => (await app.health())?.status === 'ok'))).every(Boolean);
const readyAgain = (): Promise<unknown> => until('each role is ready again', areReady, { withinMs: 60_000, seen });

describe('/health/ready of each role', () => {
  it.each(['redis', 'kafka'] as const)('tells within 30 s that %s was killed, and that it is back', async (service) => {
    servers.kill(service);
    const faults = await faultsOf();
    const asked = service === 'redis' ? /redis/ : /kafka|publisher|log/;
    for (const role of ['ingress', 'worker', 'operations'])
      expect([role, faults[role]]).toEqual([role, expect.stringMatching(asked)]);
    await servers.bringUp();
    await readyAgain();
  });

  it.each(['redis', 'kafka'] as const)(
    'tells within 30 s that %s answers nothing, and that it does again',
    async (service) => {
      servers.freeze(service);
      try {
        expect(Object.keys(await faultsOf()).toSorted()).toEqual(['ingress', 'operations', 'worker']);
      } finally {
        servers.thaw(service);
      }
      await readyAgain();
    },
  );
});
