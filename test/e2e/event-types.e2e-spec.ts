import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { App } from '../support/app.js';
import { anEnvelope, type Answer, call, Client } from '../support/client.js';
import { CommandLine } from '../support/command-line.js';
import { Document } from '../support/document.js';
import { Receiver } from '../support/receiver.js';
import { partner, relay, source, startRelay } from '../support/shared-relay.js';
import type { Settings } from '../support/stack.js';
import { tally } from '../support/tally.js';
import { Terminal } from '../support/terminal.js';
import { until } from '../support/until.js';

interface Login {
  readonly clientId: string;
  readonly clientSecret: string;
}

let operations: App<'operations'>;
let receiver: Receiver;
let admin: Login;
const folder = mkdtempSync(join(tmpdir(), 'relay-event-types-'));
startRelay({}, async () => {
  await operations?.stop();
  await receiver?.close();
  rmSync(folder, { recursive: true });
});
beforeAll(async () => {
  receiver = await Receiver.open();
  operations = await App.start('operations', { ...relay.stack.env, SEARCH_INDEX: join(folder, 'index.sqlite') });
  admin = await relay.stack.client('operator', 'types', '--role', 'admin');
});

const operate = (method: string, path: string, body?: unknown): Promise<Answer> => {
  const authorization = `Basic ${Buffer.from(`${admin.clientId}:${admin.clientSecret}`).toString('base64')}`;
  return call(method, `${operations.url}${path}`, { headers: { authorization }, body });
};
/** Settings of a command line that asks these operations as an admin. */
const login = (): Settings => ({
  OPERATIONS_URL: operations.url,
  OPERATOR_CLIENT_ID: admin.clientId,
  OPERATOR_CLIENT_SECRET: admin.clientSecret,
});
const send = (type: string, payload: object): Promise<Answer> => source.post({ id: randomUUID(), type, payload });
const register = (eventType: string, path: string): Promise<Answer> =>
  partner.request('POST', '/webhooks', { eventType, endPointUrl: receiver.url(path), apiKey: 'k' });

const SCHEMA = {
  type: 'object',
  required: ['id', 'total'],
  properties: { id: { type: 'string' }, total: { type: 'number', minimum: 0 } },
};

it('the tutorial leads from a file to a delivered envelope and to faults in words, and no process restarts', async () => {
  const page = new Document('docs/tutorial.md');
  const processes = () => [relay.ingress, relay.worker, operations].map(({ pid, isRunning }) => [pid, isRunning]);
  const before = processes();
  expect(await send('order.paid', { id: 'o_1', total: 1 })).toMatchObject({
    status: 400,
    json: {
      errors: [
        {
          pointer: '/type',
          detail: expect.stringMatching(/^order\.paid is no event type\. GET \/event-types lists the 14/),
        },
      ],
    },
  });

  const terminal = new Terminal({ ...relay.stack.env, ...login() });
  const steps = page.blocks('bash').map((code) =>
    [
      ['http://127.0.0.1:3000', relay.ingress.url],
      ['http://127.0.0.1:3300/', receiver.url('/')],
      ['event-types.yaml', join(folder, 'event-types.yaml')],
    ].reduce((text, [printed = '', ours = '']) => text.replaceAll(printed, ours), code),
  );
  const next = (): Promise<string> => terminal.run(steps.shift() ?? '');
  // Where a reader types the next command, the ingress has heard of the type.
  const heard = (revision: number): Promise<boolean> =>
    until('the ingress knows the schema', async () =>
      (await call('GET', `${relay.ingress.url}/event-types`)).text.includes(`/order.paid/${revision}.json`),
    );
  const answer = async (): Promise<unknown> => JSON.parse(await next());
  try {
    writeFileSync(join(folder, 'event-types.yaml'), page.block('yaml', 'order.paid'));
    await next();
    expect(await next()).toBe('created order.paid\n');
    await heard(1);
    expect(await answer()).toEqual({ id: expect.any(String) });
    expect(await answer()).toMatchObject({ type: 'order.paid', status: 'accepted' });
    await until('the envelope is delivered', () => receiver.at('/orders').length === 1);
    expect(receiver.at('/orders')[0]).toMatchObject({ headers: { 'relay-event-type': 'order.paid' } });
    const story = steps.shift() ?? '';
    await until('its story tells that', async () => / 204 .* delivered$/m.test(await terminal.run(story)));
    const shown = JSON.parse(`{${page.block('text', '"errors"')}}`) as object;
    const refused = await next();
    expect(JSON.parse(refused)).toMatchObject({ status: 400, ...shown });
    expect(refused).not.toContain('a lot');

    expect(await next()).toMatch(/^would be changed order\.paid \(revision 2\)$/m);
    expect(await next()).toBe('changed order.paid (revision 2)\n');
    await heard(2);
    expect(await answer()).toMatchObject({ status: 400, errors: [{ pointer: '/payload/currency' }] });
    expect(await answer()).toMatchObject({ status: 'accepted' });
    expect(steps).toEqual([]);
    await until('both envelopes are delivered', () => receiver.at('/orders').length === 2);
    expect(processes()).toEqual(before);
  } finally {
    await terminal.close();
  }
});

it('an applied type is in the documents of the ingress, with its schema', async () => {
  const types = await call('GET', `${relay.ingress.url}/event-types`);
  const found = (types.json as unknown as { eventTypes: { name: string; payloadSchema: string }[] }).eventTypes;
  expect(found).toHaveLength(22);
  const own = found.find(({ name }) => name === 'order.paid');
  const path = new URL(own?.payloadSchema ?? '').pathname;
  expect(path).toBe('/schemas/order.paid/2.json');
  expect((await call('GET', `${relay.ingress.url}${path}`)).json).toMatchObject({
    required: ['id', 'total', 'currency'],
  });
});

it('a dry run of a changed schema says how many of the newest records it refuses, and why', async () => {
  const apply = async (total: object, dryRun: boolean) => {
    const schema = { ...SCHEMA, properties: { ...SCHEMA.properties, total } };
    const definition = { description: 'An order was kept.', schema, key: '/id' };
    const { json } = await operate('POST', '/event-types/apply', { eventTypes: { 'order.kept': definition }, dryRun });
    return json['changes'];
  };
  const change = { name: 'order.kept', change: 'changed', revision: 2, annotations: [] };
  await apply(SCHEMA.properties.total, false);
  await until('the ingress takes it', async () => (await send('order.kept', { id: 'o_1', total: 1.5 })).status === 202);
  const reasons = [{ pointer: '/total', detail: '"total" must be a whole number.' }];
  const newest = { records: 1, refused: 1, reasons };
  expect(await apply({ type: 'integer' }, true)).toEqual([{ ...change, newest }]);
  expect(await apply({ type: 'integer' }, false)).toEqual([change]);
});

it('an archived type takes no envelope and no webhook; its webhooks are still changed, read, replayed and deleted', async () => {
  const since = new Date().toISOString();
  const registered = await register('order.paid', '/own');
  expect(registered).toMatchObject({ status: 201 });
  const webhook = `/webhooks/${String(registered.json['id'])}`;
  await send('order.paid', { id: 'o_1', total: 1, currency: 'EUR' });
  await until('it is delivered', () => receiver.at('/own').length === 1);
  expect(await operate('DELETE', '/event-types/order.paid')).toMatchObject({ status: 204 });
  await until(
    'the ingress refuses it',
    async () => (await send('order.paid', { id: 'o_2', total: 1, currency: 'EUR' })).status === 400,
  );
  const refused = await send('order.paid', { id: 'o_2', total: 1, currency: 'EUR' });
  expect(refused).toMatchObject({
    json: { errors: [{ pointer: '/type', detail: expect.stringContaining('order.paid is archived') }] },
  });
  expect(await register('order.paid', '/others')).toMatchObject({ status: 400 });
  expect(await partner.request('POST', `${webhook}/replay`, { since })).toMatchObject({ status: 202 });
  const [first] = receiver.ids('/own');
  await until('it is delivered again', () => receiver.ids('/own').filter((id) => id === first).length === 2);
  const changed = { eventType: 'order.paid', endPointUrl: receiver.url('/moved'), apiKey: 'k' };
  expect(await partner.request('PUT', '/webhooks', changed)).toMatchObject({ status: 200 });
  expect(await partner.request('PATCH', webhook, { endPointUrl: receiver.url('/own') })).toMatchObject({ status: 200 });
  expect(await partner.request('GET', '/webhooks?eventType=order.paid')).toMatchObject({ status: 200 });
  expect(await partner.request('DELETE', '/webhooks', { eventType: 'order.paid' })).toMatchObject({ status: 200 });
});

it('each revision of a schema stays served, but not while the type is for chosen partners', async () => {
  const read = (file: string) => call('GET', `${relay.ingress.url}/schemas/order.kept/${file}`);
  const $id = expect.stringMatching(/\/schemas\/order\.kept\/1\.json$/);
  expect((await read('1.json')).json).toEqual({ ...SCHEMA, $id });
  expect((await read('2.json')).json).toMatchObject({ properties: { total: { type: 'integer' } } });
  for (const file of ['0.json', '3.json', '01.json', '1', 'x.json'])
    expect([file, (await read(file)).status]).toEqual([file, 404]);
  expect((await operate('PUT', '/event-types/order.kept', { partners: ['p'] })).status).toBe(200);
  await until('the ingress hides it', async () => (await read('2.json')).status === 404);
  expect((await read('1.json')).status).toBe(404);
  expect(await operate('DELETE', '/event-types/order.kept')).toMatchObject({ status: 204 });
});

it('definitions with faults are refused with every fault, and nothing changes', async () => {
  const refused = await operate('POST', '/event-types/apply', {
    eventTypes: {
      'relay.own': {},
      'task.created': { description: 'Mine.' },
      'Order.Paid': {},
      'order.sent': { schema: { $ref: 'https://elsewhere.example/schema.json' } },
      'order.lost': { schema: SCHEMA, sample: { id: 5 } },
    },
  });
  expect(refused.status).toBe(400);
  const { errors } = refused.json as unknown as { errors: { pointer: string }[] };
  const places = errors.map(({ pointer }) => pointer.split('/')[2]);
  expect(new Set(places)).toEqual(new Set(['relay.own', 'task.created', 'Order.Paid', 'order.sent', 'order.lost']));
  const { json } = await operate('GET', '/event-types');
  expect((json as unknown as { eventTypes: unknown[] }).eventTypes).toHaveLength(16);
});

it('the command line applies a YAML file, names its faults by their lines, and lists the types', async () => {
  const cli = new CommandLine({ ...relay.stack.env, ...login() });
  const apply = async (text: string, ...options: string[]): Promise<unknown[]> => {
    const { code, out, err } = await cli.run(['event-types', 'apply', '-f', '-', ...options], {}, text);
    return [code, out, err];
  };
  const text = 'eventTypes:\n  item.sold:\n    description: An item was sold.\n';
  expect(await apply(text, '--dry-run')).toEqual([0, 'would be created item.sold\n', '']);
  expect(await apply(text)).toEqual([0, 'created item.sold\n', '']);
  const changed = `${text}    schema: { type: object }\n`;
  expect(await apply(changed)).toEqual([0, 'changed item.sold (revision 2)\n', '']);
  expect(await apply(changed)).toEqual([0, 'unchanged item.sold\n', '']);
  expect(await apply(changed.replace('object', 'array'), '--dry-run')).toEqual([
    0,
    'would be changed item.sold (revision 3)\n  refuses 0 of the newest 0 records\n',
    '',
  ]);

  const [code, out, err] = await apply(`${changed}    key: id\n    key: id\n  relay.own: {}\n`);
  expect([code, out]).toEqual([1, '']);
  expect(String(err).split('\n')).toEqual([
    'standard input:6:5 Map keys must be unique',
    expect.stringMatching(/^standard input:6:10 item\.sold: key is no JSON Pointer/),
    expect.stringMatching(/^standard input:7:3 relay\.own: names from relay\. on/),
    'error: nothing was changed: standard input has 3 faults.',
    '',
  ]);
  expect(await apply('eventTypes:\n  relay.own: {}\n  item.sold: {}\n')).toEqual([
    1,
    '',
    expect.stringMatching(/^standard input:2:3 relay\.own: names from relay\. on .*\nerror: .* has 1 fault\.\n$/),
  ]);

  const types = await cli.json<{ name: string }[]>(['event-types', 'list']);
  expect(types.find(({ name }) => name === 'item.sold')).toMatchObject({
    origin: 'applied',
    revision: 2,
    archived: false,
    description: 'An item was sold.',
  });
  expect(await cli.run(['event-types', 'get', 'item.sold'])).toMatchObject({
    code: 0,
    out: expect.stringMatching(/^# applied, revision 2, active\neventTypes:\n {2}item\.sold:\n/),
  });
  expect(await cli.run(['event-types', 'archive', 'item.sold'])).toMatchObject({
    code: 0,
    out: 'archived item.sold\n',
  });
});

it('a relay without the built-in types begins with none, and takes those that are applied', async () => {
  const env = { ...relay.stack.env, BUILT_IN_EVENT_TYPES: 'false' };
  const bare = await Promise.all([App.start('ingress', env), App.start('operations', env)]);
  try {
    const [ingress, desk] = bare;
    const authorization = `Basic ${Buffer.from(`${admin.clientId}:${admin.clientSecret}`).toString('base64')}`;
    const namesAt = async (url: string): Promise<string[]> => {
      const { json } = await call('GET', `${url}/event-types`, { headers: { authorization } });
      return (json['eventTypes'] as unknown as { name: string }[]).map(({ name }) => name);
    };
    expect(await namesAt(desk.url)).not.toContain('task.created');
    expect((await operate('PUT', '/event-types/only.mine', {})).status).toBe(200);
    await until('the desk knows the type', async () => (await namesAt(desk.url)).includes('only.mine'));
    const own = new Client(ingress.url, source.clientId, source.clientSecret);
    const sendTo = (type: string) => own.post({ id: randomUUID(), type, payload: { id: randomUUID() } });
    await until('the ingress takes the type', async () => (await sendTo('only.mine')).status === 202);
    expect(await sendTo('task.created')).toMatchObject({ status: 400 });
  } finally {
    await Promise.all(bare.map((app) => app.stop()));
  }
});

it('types that are applied while a worker is killed lose no envelope', async () => {
  const other = await App.start('worker', relay.stack.env);
  const sent = new Map<string, Set<string>>();
  const post = async (type: string, path: string): Promise<void> => {
    const ids = sent.get(path) ?? new Set<string>();
    for (let count = 0; count < 20; count += 1) {
      const envelope = anEnvelope({ type });
      expect((await source.post(envelope)).status).toBe(202);
      ids.add(envelope.id);
    }
    sent.set(path, ids);
  };
  expect((await register('task.created', '/tasks')).status).toBe(201);
  for (let n = 0; n < 5; n += 1) {
    const [type, path] = [`moving.type-${n}`, `/moving/${n}`];
    expect((await operate('PUT', `/event-types/${type}`, { description: 'It moves.' })).status).toBe(200);
    await until('the ingress knows the type', async () => (await register(type, path)).status === 201);
    await post(type, path);
    await post('task.created', '/tasks');
    if (n === 2) await other.kill();
  }
  for (const [path, ids] of sent) {
    const counts = () => tally(ids, receiver.delivered(path));
    await until(`all is delivered to ${path}`, () => counts().lost === 0, { seen: counts });
  }
});
