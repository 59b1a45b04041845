import { randomBytes } from 'node:crypto';
import { App } from '../support/app.js';
import { anEnvelope, call, Client } from '../support/client.js';
import { CommandLine } from '../support/command-line.js';
import { partner, relay, source, startRelay } from '../support/shared-relay.js';
import { until } from '../support/until.js';

const aKey = (kid: string): string => `${kid}:${randomBytes(32).toString('base64')}`;
const k1 = aKey('k1');
const both = `${aKey('k2')},${k1}`;

const others: App[] = [];

startRelay({ ENCRYPTION_KEYS: k1, RETRY_SCHEDULE: '1s,1s,1s' }, () => Promise.all(others.map((app) => app.kill())));

beforeAll(async () => {
  await partner.register({ eventType: 'task.created', endPointUrl: relay.receiver.url('/hook'), apiKey: 'k' });
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
])('a worker that %s takes no partition, and says which key', async (_what, keys, text) => {
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

it('an ingress that lacks the key accepts nothing', async () => {
  const wrong = await launch('ingress', aKey('k9'));
  await until('it says so', async () => (await readiness(wrong).catch(() => '')).includes('lacks k1'));
  await expect(fetch(`${wrong.url}/health`)).rejects.toThrow();
});

it.each([
  ['partner', ['acme']],
  ['source', ['billing']],
  ['operator', ['night-shift', '--role', 'admin']],
])('relay admin clients create %s issues no secret without the key', async (kind, args) => {
  const cli = new CommandLine(await relay.stack.commandEnv());
  const list = async (): Promise<string> => JSON.stringify(await cli.json([`${kind}s`, 'list']));
  const before = await list();
  const { code, err } = await cli.run(['admin', 'clients', 'create', kind, ...args], { ENCRYPTION_KEYS: aKey('k9') });
  expect(err).toContain('lacks k1');
  expect(code).toBe(1);
  expect(await list()).toBe(before);
});

describe('an ingress that is started with a new first key before the others have it', () => {
  const held = anEnvelope({ type: 'plan.created' });
  let early: App;
  let at: Client;

  beforeAll(async () => {
    early = await launch('ingress', both);
    await early.ready();
    at = new Client(early.url, partner.clientId, partner.clientSecret);
    await at.register({ eventType: 'plan.created', endPointUrl: relay.receiver.url('/sealed'), apiKey: 'k' });
  });

  const lacks = (app: App): boolean => app.log.join('\n').includes('ENCRYPTION_KEYS lacks k2');
  const arrived = (path: string, { id }: { id: string }): boolean => relay.receiver.ids(path).includes(id);

  it('stops nobody: each says what it lacks, and goes on', async () => {
    await until('each says so', () => lacks(relay.worker) && lacks(relay.ingress));
    expect(await relay.worker.metrics()).toContain('relay_keys_missing 1');
    for (const app of [relay.worker, relay.ingress]) expect((await app.health())?.status).toBe('ok');
    const envelope = anEnvelope();
    expect((await source.post(envelope)).status).toBe(202);
    await until('it is delivered', () => arrived('/hook', envelope));
    await relay.ingress.stop();
    await relay.worker.stop();
    relay.ingress.start();
    relay.worker.start();
    await relay.ingress.ready();
    await relay.worker.ready();
  });

  it('holds what the worker cannot open, visibly, and nothing else', async () => {
    expect((await source.post(held)).status).toBe(202);
    await until('the worker says so', () => relay.worker.log.join('\n').includes('delivery.unreadable_credential'));
    const envelope = anEnvelope();
    expect((await source.post(envelope)).status).toBe(202);
    await until('the other is delivered', () => arrived('/hook', envelope));
    const story = await relay.stack.relay('deliveries', 'get', held.id);
    expect(JSON.stringify(story)).toContain('no key in ENCRYPTION_KEYS of the worker opens');
  });

  it('is answered 503, not 401, by the other ingress that cannot tell, and loses no secret there', async () => {
    const [here] = (await partner.request('GET', '/webhooks?eventType=plan.created')).json;
    const secret = `/webhooks/${String(here?.['id'])}/secret`;
    expect((await partner.request('GET', secret)).status).toBe(503);
    expect((await partner.request('POST', `${secret}/rotate`)).status).toBe(503);
    expect((await at.request('GET', secret)).status).toBe(200);
    // The use of its secret has stored its hash under the new key.
    partner.forgetToken();
    await expect(partner.token()).rejects.toThrow('token: 503');
    partner.forgetToken();
    const wrong = new Client(relay.ingress.url, source.clientId, 'wrong');
    await expect(wrong.token()).rejects.toThrow('token: 401');
    const keyed = (await relay.stack.relay('sources', 'create', 'keyed', '--api-key')) as { apiKey: string };
    const post = async ({ url }: App, apiKey: string): Promise<number> =>
      (await call('POST', `${url}/deliveries`, { headers: { 'x-api-key': apiKey }, body: anEnvelope() })).status;
    await until('the new ingress knows the key', async () => (await post(early, keyed.apiKey)) === 202);
    await until('the other cannot tell', async () => (await post(relay.ingress, keyed.apiKey)) === 503);
  });

  it('seals nothing by a command with a key that no process has', async () => {
    const cli = new CommandLine(relay.stack.env);
    const newest = { ENCRYPTION_KEYS: `${aKey('k3')},${both}` };
    for (const command of [
      ['keys', 'rotate'],
      ['admin', 'clients', 'create', 'partner', 'acme'],
    ])
      expect(await cli.run(command, newest)).toMatchObject({ code: 1, err: expect.stringContaining('begins with k3') });
  });

  it('delivers what was held once the worker has the key', async () => {
    await relay.worker.stop();
    relay.worker.start({ env: { ENCRYPTION_KEYS: both } });
    await until('it arrives', () => arrived('/sealed', held), { withinMs: 90_000 });
    expect(await relay.stack.relay('dead-letters', 'list')).toEqual([]);
  });
});

it('a running worker ends only when none of its keys is left, and starts once one is', async () => {
  const cli = new CommandLine(relay.stack.env);
  await relay.worker.stop();
  relay.worker.start({ env: { ENCRYPTION_KEYS: k1 } });
  await relay.worker.ready();
  await cli.json(['keys', 'forget', 'k1', '--lost'], { ENCRYPTION_KEYS: both });
  await until('it ends', () => !relay.worker.isRunning);
  expect(relay.worker.log.join('\n')).toContain('lacks k2');
  relay.worker.start();
  await until('it waits', async () => (await readiness(relay.worker).catch(() => '')).includes('lacks k2'));
  await relay.worker.stop();
  relay.worker.start({ env: { ENCRYPTION_KEYS: both } });
  await relay.worker.ready();
});
