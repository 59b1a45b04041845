import { randomBytes } from 'node:crypto';
import { App } from '../support/app.js';
import { anEnvelope, type Client } from '../support/client.js';
import { CommandLine } from '../support/command-line.js';
import { Relay } from '../support/relay.js';
import { until } from '../support/until.js';

const aKey = (kid: string): string => `${kid}:${randomBytes(32).toString('base64')}`;
const k1 = aKey('k1');

let relay: Relay;
let source: Client;
const others: App[] = [];
beforeAll(async () => {
  relay = await Relay.start({ ENCRYPTION_KEYS: k1 });
  source = await relay.source();
  const partner = await relay.partner();
  await partner.register({ eventType: 'task.created', endPointUrl: relay.receiver.url('/hook'), apiKey: 'k' });
});
afterAll(async () => {
  await Promise.all(others.map((app) => app.kill()));
  await relay.close();
});

const members = async (): Promise<number> => {
  const { groups } = await relay.stack.admin.describeGroups([relay.stack.env['KAFKA_CONSUMER_GROUP'] ?? '']);
  return groups[0]?.members.length ?? 0;
};
const readiness = async (app: App): Promise<string> => JSON.stringify((await app.health()) ?? '');
const launch = async (role: 'ingress' | 'worker', keys: string): Promise<App> => {
  const app = await App.launch(role, { ...relay.stack.env, ENCRYPTION_KEYS: keys });
  others.push(app);
  return app;
};

it.each([
  ['lacks what is registered', aKey('k9'), 'lacks k1'],
  ['has another key of that name', aKey('k1'), 'another key under the name k1'],
])('takes no partition in a worker that %s, and says which key', async (_what, keys, text) => {
  const wrong = await launch('worker', keys);
  await until('it says so', async () => (await readiness(wrong).catch(() => '')).includes(text));
  const envelopes = Array.from({ length: 60 }, () => anEnvelope());
  for (const envelope of envelopes) expect((await source.post(envelope)).status).toBe(202);
  await until('all are delivered', () => envelopes.every(({ id }) => relay.receiver.ids('/hook').includes(id)));
  expect(await members()).toBe(1);
  expect(wrong.log.join('\n')).toContain('keys.missing');
  expect(wrong.log.join('\n')).not.toContain('unreadable_credential');
  await wrong.kill();
});

it('accepts nothing in an ingress that lacks it', async () => {
  const wrong = await launch('ingress', aKey('k9'));
  await until('it says so', async () => (await readiness(wrong).catch(() => '')).includes('lacks k1'));
  await expect(fetch(`${wrong.url}/health`)).rejects.toThrow();
});

it.each([
  [['partners', 'create', 'acme']],
  [['sources', 'create', 'billing']],
  [['operators', 'create', 'night-shift', '--role', 'admin']],
])('issues no secret without it: relay %j', async (command) => {
  const cli = new CommandLine(relay.stack.env);
  const list = async (): Promise<string> => JSON.stringify(await cli.json([command[0] ?? '', 'list']));
  const before = await list();
  const { code, err } = await cli.run(command, { ENCRYPTION_KEYS: aKey('k9') });
  expect(err).toContain('lacks k1');
  expect(code).toBe(1);
  expect(await list()).toBe(before);
});

it('leaves the group when a key becomes known that a running worker lacks, and begins once that is forgotten', async () => {
  const cli = new CommandLine(relay.stack.env);
  const both = { ENCRYPTION_KEYS: `${aKey('k2')},${k1}` };
  const newer = await launch('worker', both.ENCRYPTION_KEYS);
  await newer.ready();
  await until('the older one ends', () => !relay.worker.isRunning);
  expect(relay.worker.log.join('\n')).toContain('lacks k2');
  const envelope = anEnvelope();
  expect((await source.post(envelope)).status).toBe(202);
  await until('the newer one delivers', () => relay.receiver.ids('/hook').includes(envelope.id));
  await newer.stop();
  relay.worker.start();
  await until('it waits', async () => (await readiness(relay.worker).catch(() => '')).includes('lacks k2'));
  expect((await cli.run(['keys', 'forget', 'k2'], both)).code).toBe(1);
  expect(await cli.json(['keys', 'forget', 'k2'])).toEqual({ key: 'k2', forgotten: true });
  await relay.worker.ready();
});
