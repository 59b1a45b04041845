import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { App } from '../support/app.js';
import { anEnvelope, call, type Answer } from '../support/client.js';
import { CommandLine } from '../support/command-line.js';
import { Relay } from '../support/relay.js';
import { until } from '../support/until.js';

interface Login {
  readonly clientId: string;
  readonly clientSecret: string;
}

const folder = mkdtempSync(join(tmpdir(), 'relay-operations-'));
let relay: Relay;
let operations: App<'operations'>;
let admin: Login;
beforeAll(async () => {
  relay = await Relay.start();
  operations = await App.start('operations', {
    ...relay.stack.env,
    SEARCH_INDEX: join(folder, 'index.sqlite'),
  });
  admin = await relay.stack.client('operator', 'night', '--role', 'admin');
});
afterAll(async () => {
  await operations?.stop();
  await relay?.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Every answer is compared with the app's own /openapi.json. */
const ask = (
  method: string,
  path: string,
  body?: unknown,
  { clientId, clientSecret }: Login = admin,
): Promise<Answer> => {
  const authorization = `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}`;
  return call(method, `${operations.url}${path}`, { headers: { authorization }, body });
};

it('the operations app answers every look as its document says', async () => {
  for (const path of [
    '/queues',
    '/lag',
    '/doctor',
    '/now',
    '/webhooks',
    '/replays',
    '/clients',
    '/audit',
    '/dead-letters',
    '/dead-letters/facets',
  ])
    expect([path, (await ask('GET', path)).status]).toEqual([path, 200]);
  expect((await ask('GET', '/webhooks/none')).status).toBe(404);
  expect((await ask('GET', '/clients?limit=0')).status).toBe(400);
});

it('the operations app examines the stores as the command line does', async () => {
  interface Finding {
    readonly check: string;
    readonly state: string;
  }
  const cli = new CommandLine({ ...relay.stack.env, PUBLIC_URL: relay.ingress.url });
  const byCommand = await cli.json<{ findings: Finding[] }>(['doctor']);
  const { findings, unchecked, faults } = (await ask('GET', '/doctor')).json as unknown as {
    findings: Finding[];
    unchecked: string[];
    faults: number;
  };
  const told = (list: Finding[]) => list.map(({ check, state }) => `${check}: ${state}`);
  expect([faults, told(findings)]).toEqual([
    0,
    told(byCommand.findings.filter(({ check }) => !unchecked.includes(check))),
  ]);
});

it('the operations app makes a partner that the ingress knows, and an operator of a role', async () => {
  const issued = (await ask('POST', '/clients', { kind: 'partner', name: 'made here' })).json as unknown as Login;
  const authorization = `Basic ${Buffer.from(`${issued.clientId}:${issued.clientSecret}`).toString('base64')}`;
  const token = await fetch(`${relay.ingress.url}/auth/token`, { method: 'POST', headers: { authorization } });
  expect(token.status).toBe(200);
  const viewer = (await ask('POST', '/clients', { kind: 'operator', name: 'v', role: 'viewer' }))
    .json as unknown as Login;
  expect((await ask('GET', '/clients?kind=operator', undefined, viewer)).json).toMatchObject({ total: 2 });
  expect((await ask('POST', '/clients', { kind: 'partner', name: 'x' }, viewer)).status).toBe(403);
});

it('the operations app orders, pauses, resumes and ends a replay of a webhook, and the audit tells all of it, the newest first', async () => {
  const [partner, source] = [await relay.partner(), await relay.source()];
  const id = await partner.register({
    eventType: 'task.created',
    endPointUrl: relay.receiver.url('/replayed'),
    apiKey: 'key',
  });
  await source.post(anEnvelope({ type: 'task.created' }));
  await until('it is delivered', () => relay.receiver.at('/replayed').length === 1);

  const now = await until('the index has the attempt', async () => {
    const { rates, incomplete, lag } = (await ask('GET', '/now')).json as unknown as {
      rates: { accepted: number; delivered: number; failed: number };
      incomplete: string[];
      lag: { total: number };
    };
    return rates.delivered > 0 && { rates, incomplete, lag };
  });
  // One envelope and its delivery within a minute, as far as this took no longer.
  expect(now).toMatchObject({ rates: { failed: 0 }, incomplete: [], lag: { total: expect.any(Number) } });

  const dry = await ask('POST', '/replays', { webhook: id, dryRun: true });
  expect([dry.status, dry.json['id'], dry.json['matched']]).toEqual([202, null, 1]);
  expect((await ask('POST', '/webhooks/' + id + '/disable')).json).toMatchObject({ status: 'disabled' });
  expect((await ask('POST', '/replays', { webhook: id })).status).toBe(409);
  expect((await ask('POST', '/webhooks/' + id + '/enable')).json).toMatchObject({ status: 'active' });

  const ordered = await ask('POST', '/replays', { webhook: id });
  expect([ordered.status, ordered.json['orderedBy']]).toEqual([202, 'operator']);
  const path = `/replays/${String(ordered.json['id'])}`;
  await until('it is delivered again', () => relay.receiver.at('/replayed').length === 2);
  await until('it is done', async () => String((await ask('GET', path)).json['state']) === 'done');
  expect((await ask('POST', `${path}/pause`)).status).toBe(409);

  // A replay of which nothing is delivered, because its webhook is disabled, is under way for long enough.
  const later = await ask('POST', '/replays', { webhook: id, until: '2000-01-01T00:00:00Z' });
  expect(later.status).toBe(202);
  expect((await ask('DELETE', `/replays/${String(later.json['id'])}`)).status).toBe(204);

  const events = (answer: Answer): unknown[] =>
    (answer.json['records'] as unknown as { event: string }[]).map(({ event }) => event);
  const told = await ask('GET', `/audit?webhook=${id}`);
  expect(events(told).slice(-4)).toEqual([
    'replay.ordered',
    'webhook.enabled',
    'webhook.disabled',
    'webhook.registered',
  ]);
  expect(events(await ask('GET', `/audit?event=webhook.disabled&operator=${admin.clientId}`))).toEqual([
    'webhook.disabled',
  ]);
  const first = await ask('GET', '/audit?limit=1');
  const second = await ask('GET', `/audit?limit=1&before=${String(first.json['before'])}`);
  expect([first.json['records'], second.json['records']].flat()).toEqual(
    (await ask('GET', '/audit?limit=2')).json['records'],
  );
  expect((await ask('GET', '/audit?before=x')).status).toBe(400);

  const settings = { OPERATIONS_URL: operations.url, OPERATOR_CLIENT_ID: admin.clientId };
  const cli = new CommandLine({ ...settings, OPERATOR_CLIENT_SECRET: admin.clientSecret });
  expect(await cli.json(['audit', '--webhook', id])).toEqual(told.json);
});

it('the operations app orders a replay of each of several webhooks, tells of each, and names those that are left out', async () => {
  const [partner, source] = [await relay.partner(), await relay.source()];
  const register = (eventType: string, path: string): Promise<string> =>
    partner.register({ eventType, endPointUrl: relay.receiver.url(path), apiKey: 'key' });
  const [first, second, off] = [
    await register('plan.created', '/each/1'),
    await register('message.created', '/each/2'),
    await register('plan.completed', '/each/off'),
  ];
  await ask('POST', `/webhooks/${off}/disable`);
  for (const type of ['plan.created', 'plan.created', 'message.created']) await source.post(anEnvelope({ type }));
  const received = (): number[] => ['/each/1', '/each/2'].map((path) => relay.receiver.at(path).length);
  await until('they are delivered', () => received().join() === '2,1');
  const unknown = '3f2b1c0d-9e8f-4a7b-8c6d-5e4f3a2b1c0d';
  const order = { webhooks: [second, off, first, unknown, second] };

  const replay = (webhookId: string, matched: number, state: string) =>
    expect.objectContaining({ webhookId, matched, state, orderedBy: 'operator' });
  const leftOut = [
    { webhookId: off, why: 'disabled', replayId: null },
    { webhookId: unknown, why: 'unknown', replayId: null },
  ];
  const counted = await ask('POST', '/replays', { ...order, dryRun: true });
  const counts = [replay(second, 1, 'dry-run'), replay(first, 2, 'dry-run')];
  expect([counted.status, counted.json]).toEqual([202, { replays: counts, leftOut }]);
  const none = { webhooks: [off, unknown] };
  expect((await ask('POST', '/replays', none)).json).toMatchObject({ status: 409, leftOut });
  expect((await ask('POST', '/replays', { ...none, dryRun: true })).json).toEqual({ replays: [], leftOut });
  for (const wrong of [{}, { webhook: first, webhooks: [first] }, { webhooks: [] }, { webhooks: ['x'] }])
    expect([wrong, (await ask('POST', '/replays', wrong)).status]).toEqual([wrong, 400]);

  await relay.worker.stop(); // a replay is under way for as long as no worker runs
  const alone = await ask('POST', '/replays', { webhook: second });
  const running = { webhookId: second, why: 'running', replayId: alone.json['id'] };
  const ordered = await ask('POST', '/replays', order);
  expect([ordered.status, ordered.json]).toEqual([
    202,
    { replays: [replay(first, 2, 'running')], leftOut: [...leftOut, running] },
  ]);
  expect((await ask('POST', '/replays', { ...order, dryRun: true })).json).toMatchObject({ replays: [] });
  relay.worker.start();
  await relay.worker.ready();
  await until('they are delivered again', () => received().join() === '4,2', { seen: received });

  const toldOf = async (webhook: string): Promise<Readonly<Record<string, unknown>>[]> =>
    (await ask('GET', `/audit?webhook=${webhook}&event=replay.ordered`)).json['records'] as never;
  const [{ id }] = ordered.json['replays'] as unknown as [{ id: string }];
  const requestId = ordered.headers.get('x-request-id');
  expect(await toldOf(first)).toEqual([expect.objectContaining({ operator: admin.clientId, id, requestId })]);
  expect(await toldOf(second)).toEqual([expect.objectContaining({ id: alone.json['id'] })]);
});

it('the operations app gives another operator another role, within two seconds', async () => {
  const made = (await ask('POST', '/clients', { kind: 'operator', name: 'falls', role: 'admin' }))
    .json as unknown as Login;
  await until('it is an admin', async () => (await ask('GET', '/clients', undefined, made)).status === 200);
  expect((await ask('PATCH', `/clients/${made.clientId}`, { role: 'viewer' })).json).toMatchObject({ role: 'viewer' });
  await until('it is a viewer', async () => {
    const { status } = await ask('POST', '/clients', { kind: 'partner', name: 'x' }, made);
    return status === 403;
  });
  expect((await ask('PATCH', `/clients/${admin.clientId}`, { role: 'viewer' })).status).toBe(409);
  const { records } = (await ask('GET', '/audit?event=client.changed')).json as unknown as { records: object[] };
  expect(records).toEqual([
    expect.objectContaining({ clientId: made.clientId, formerRole: 'admin', role: 'viewer', operator: admin.clientId }),
  ]);
});
