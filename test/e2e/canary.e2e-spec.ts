import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { App } from '../support/app.js';
import { anEcho, Canaries, dumpOf, filesOf, recordsOf, stands } from '../support/canaries.js';
import { anEnvelope, type Client } from '../support/client.js';
import { CommandLine } from '../support/command-line.js';
import { deadLettersIn } from '../support/dead-letters.js';
import { KeptAnswers, type Asked } from '../support/kept-answers.js';
import { rawRequest } from '../support/raw-request.js';
import { Relay } from '../support/relay.js';
import { aJwt, secretFile } from '../support/secret-file.js';
import { Servers } from '../support/servers.js';
import { until } from '../support/until.js';

const canary = (name: string): string => `canary-${name}-${randomBytes(18).toString('hex')}`;
const encryptionKey = randomBytes(32);
const [apiKey, jwt] = [canary('api-key'), `${canary('jwt')}.e30.c2ln`];
const [password, sourceJwt, wrong] = [canary('password'), aJwt(), canary('wrong')];
const canaries = new Canaries();
const index = mkdtempSync(join(tmpdir(), 'relay-canary-'));
const envelope = anEnvelope();

let servers: Servers;
let relay: Relay;
let operations: App<'operations'>;
let cli: CommandLine;
let partner: Client;
let source: Client;
/** What was said and shown, by place. */
const places = new Map<string, { text: string | Buffer; marker: string }>();
const answers = new KeptAnswers();
const printed: string[] = [];

beforeAll(async () => {
  servers = await Servers.start();
  relay = await Relay.start(
    {
      ENCRYPTION_KEYS: `first:${encryptionKey.toString('base64')},older:${randomBytes(32).toString('base64')}`,
      RETRY_SCHEDULE: '300ms,300ms',
      DELIVERY_TIMEOUT: '1s',
      LOG_LEVEL: 'trace',
    },
    servers.envFile,
  );
  // Two minutes after its start Redis rewrites its file, otherwise into a packed one that no search reads.
  await relay.stack.redis.config('SET', 'aof-use-rdb-preamble', 'no');
  operations = await App.start('operations', { ...relay.stack.env, SEARCH_INDEX: join(index, 'index.sqlite') });
  cli = new CommandLine({ ...relay.stack.env, PUBLIC_URL: relay.ingress.url });
  await plantAll();
  await useAll();
  await collect();
});
afterAll(async () => {
  await servers.bringUp();
  await operations.stop();
  await relay.close();
  await servers.end();
  rmSync(index, { recursive: true });
});

const askIngress = (method: string, path: string, asked: Asked): Promise<void> =>
  answers.ask(method, `${relay.ingress.url}${path}`, asked);
const askOperations = (path: string, asked: Asked): Promise<void> =>
  answers.ask('GET', `${operations.url}${path}`, asked);
async function run(...args: string[]): Promise<void> {
  const { out, err } = await cli.run(args, {
    RELAY_CLIENT_ID: source.clientId,
    RELAY_CLIENT_SECRET: source.clientSecret,
    OPERATIONS_URL: operations.url,
    OPERATOR_CLIENT_ID: operator.clientId,
    OPERATOR_CLIENT_SECRET: operator.clientSecret,
  });
  printed.push(out, err);
}
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
const basic = (user: string, secret: string) => ({
  authorization: `Basic ${Buffer.from(`${user}:${secret}`).toString('base64')}`,
});

let operator: { clientId: string; clientSecret: string };
let fixed: { apiKey: string };
let fixedBasic: { password: string };
let sessionId: string;
const webhooks = new Map<string, string>();
const registrations: object[] = [];

/** Makes every kind of secret; all that is shown once is taken from where it is shown. */
async function plantAll(): Promise<void> {
  [partner, source] = [await relay.partner(), await relay.source()];
  const made = (...args: string[]): Promise<unknown> => relay.stack.relay(...args);
  operator = (await made('admin', 'clients', 'create', 'operator', 'night', '--role', 'admin')) as typeof operator;
  fixed = (await made('admin', 'clients', 'create', 'source', 'keyed', '--api-key')) as typeof fixed;
  fixedBasic = (await made('admin', 'clients', 'create', 'source', 'named', '--basic', 'bob')) as typeof fixedBasic;
  await made('admin', 'clients', 'create', 'source', 'brought', '--jwt-file', secretFile(sourceJwt));
  const endpoints = [
    ['/ok', { apiKey }, [{ status: 200, ...anEcho(apiKey) }]],
    // An endpoint may say back whatever it was shown.
    ['/retry', { jwt }, [{ status: 500, ...anEcho(jwt) }, { status: 204 }]],
    ['/dead', { userName: 'bob', password }, [{ status: 503, ...anEcho(password) }]],
    ['/reset', { apiKey }, ['reset']],
  ] as const;
  for (const [path, credential, plan] of endpoints) {
    relay.receiver.plan(path, ...plan);
    const endPointUrl = (await relay.receiver.anotherOrigin())(path);
    const registration = { eventType: 'task.created', endPointUrl, ...credential };
    registrations.push(registration);
    webhooks.set(path, await partner.register(registration));
  }
  sessionId = String((await partner.request('POST', `/auth/${randomUUID()}/session`)).json['sessionId']);
  const secrets: Record<string, string | Buffer> = {
    apiKey,
    jwt,
    password,
    'user and password': `bob:${password}`,
    'partner secret': partner.clientSecret,
    'source secret': source.clientSecret,
    'operator secret': operator.clientSecret,
    'source API key': fixed.apiKey,
    'source password': fixedBasic.password,
    'source JWT': sourceJwt,
    'partner token': await partner.token(),
    'source token': await source.token(),
    session: sessionId,
    'encryption key': encryptionKey,
    'signing key of tokens': relay.stack.env['JWT_PRIVATE_KEYS']?.split(':')[1] ?? '',
    'a wrong secret': wrong,
  };
  const tested = await partner.request('POST', '/webhooks/test', registrations[0]);
  secrets['signing secret of a test'] = String(tested.json['secret']);
  for (const path of webhooks.keys()) secrets[`signing secret of ${path}`] = await secretOf(path);
  const rotated = await partner.request('POST', `/webhooks/${webhooks.get('/ok')}/secret/rotate`);
  secrets['new signing secret'] = String(rotated.json['secret']);
  for (const [name, secret] of Object.entries(secrets)) {
    canaries.plant(name, secret);
    const signing = /^whsec_(.+)$/.exec(String(secret))?.[1];
    if (signing !== undefined) canaries.plant(`${name}, its bytes`, Buffer.from(signing, 'base64'));
  }
  canaries.plant('encryption key as it is configured', encryptionKey.toString('base64'));
}

const secretOf = async (path: string): Promise<string> =>
  String((await partner.request('GET', `/webhooks/${webhooks.get(path)}/secret`)).json['secret']);

/** Sends every secret wherever one can be sent, rightly and wrongly, while deliveries succeed, fail, are retried and die. */
async function useAll(): Promise<void> {
  const [asPartner, asSource] = [bearer(await partner.token()), bearer(await source.token())];
  await askIngress('POST', '/deliveries', { headers: asSource, body: envelope, expected: 202 });
  for (const headers of [{ 'x-api-key': fixed.apiKey }, bearer(sourceJwt), basic('bob', fixedBasic.password)]) {
    const body = anEnvelope({ type: 'plan.created' });
    await askIngress('POST', '/deliveries', { headers, body, expected: 202 });
  }
  const dead = await until(
    'two are dead letters',
    async () => {
      const found = await deadLettersIn(relay.stack.shards);
      return found.length === 2 && found;
    },
    { seen: () => relay.worker.log.slice(-10) },
  );
  await until('the retry arrived', () => relay.receiver.delivered('/retry').length === 1);
  await run('dead-letters', 'replay', dead[0]?.id ?? '');

  const [ok, failing] = [webhooks.get('/ok'), webhooks.get('/dead')];
  const hasGood = async (): Promise<boolean> =>
    (await partner.request('GET', '/webhooks/status')).text.includes('"lastGood":{');
  await until('the good answer is kept', hasGood);
  for (const [path, expected] of [
    ['/webhooks', 200],
    ['/webhooks/status', 200],
    [`/deliveries/${envelope.id}`, 200],
    [`/webhooks?apiKey=${apiKey}`, 200],
    [`/webhooks/${ok}`, 200],
    [`/auth/session/${wrong}`, 404],
  ] as const)
    await askIngress('GET', path, { headers: asPartner, expected, isOwn: path.includes('session') });
  await askIngress('PATCH', `/webhooks/${ok}`, {
    headers: asPartner,
    body: { apiKey, endPointName: 'x' },
    expected: 200,
  });
  for (const id of [ok, failing])
    await askIngress('POST', `/webhooks/${id}/test`, { headers: asPartner, expected: 200 });
  const registration = { eventType: 'task.created', endPointUrl: relay.receiver.url('/x') };
  for (const body of [
    { ...registration, apiKey, jwt },
    { ...registration, apiKey: `${apiKey} ü` },
    { ...registration, userName: `a:${password}`, password },
    { ...registration, endPointUrl: `https://bob:${password}@example.com/`, apiKey },
    `{"apiKey":"${apiKey}" "jwt"`,
  ]) {
    const headers = { ...asPartner, 'content-type': 'application/json' };
    for (const path of ['/webhooks', '/webhooks/test'])
      await askIngress('POST', path, { headers, body, expected: 400 });
  }
  for (const body of registrations)
    await askIngress('POST', '/webhooks/test', { headers: asPartner, body, expected: 200 });
  await askIngress('GET', '/webhooks', { body: { userName: 'bob', password }, expected: 200 });
  await askIngress('GET', '/webhooks', { body: { userName: 'bob', password: wrong }, expected: 401 });
  // The last one is of a caller who confuses the id and the secret.
  for (const headers of [basic(partner.clientId, wrong), bearer(wrong), basic(partner.clientSecret, partner.clientId)])
    await askIngress('POST', '/auth/token', { headers, expected: 401 });
  const form = { 'content-type': 'application/x-www-form-urlencoded' };
  const inBody = `client_id=${partner.clientId}&client_secret=${partner.clientSecret}`;
  await askIngress('POST', `/auth/token?client_secret=${wrong}`, { headers: form, body: inBody });
  const introspecting = { ...form, ...basic(partner.clientId, partner.clientSecret) };
  const body = `token=${await partner.token()}`;
  await askIngress('POST', '/auth/introspect', { headers: introspecting, body, expected: 200 });
  for (const headers of [{ 'x-api-key': wrong }, bearer(wrong), basic('bob', wrong)])
    await askIngress('POST', '/deliveries', { headers, body: anEnvelope(), expected: 401 });

  const headers = basic(operator.clientId, operator.clientSecret);
  const jobs = (queue: string, status: string): string =>
    `/board/api/queues?activeQueue=${queue}&status=${status}&page=1&jobsPerPage=50`;
  const boards = ['/board/', jobs('deliveries', 'delayed'), jobs('dead-letters', 'waiting')];
  const attempts = ['', '?status=5xx', '?outcome=dead-letter', `?host=${wrong}`].map((query) => `/attempts${query}`);
  const dying = async (): Promise<string> =>
    (await rawRequest('GET', `${operations.url}${attempts[2]}`, { headers })).bytes.toString();
  await until('the index has the dead letters', async () => (await dying()).split('"deliveryId"').length > 2);
  const stories = ['', '/payload'].map((part) => `/envelopes/${envelope.id}${part}`);
  const lists = ['/now', '/audit', '/queues', '/lag', '/webhooks', '/dead-letters', '/replays'];
  for (const path of [...boards, ...attempts, ...stories, ...lists])
    await askOperations(path, { headers, expected: 200 });
  for (const { id } of dead) await askOperations(`/dead-letters/${id}`, { headers });
  await askOperations('/queues', { headers: basic(operator.clientId, wrong), expected: 401 });
  await askOperations('/queues', { headers: basic(operator.clientSecret, operator.clientId), expected: 401 });

  for (const group of ['partners', 'sources', 'operators']) await run(group, 'list');
  for (const json of [[], ['--json']]) {
    await run('dead-letters', 'list', ...json);
    await run('envelopes', 'get', envelope.id, ...json);
    await run('webhooks', 'list', ...json);
    await run('audit', ...json);
    await run('keys', 'rotate', ...json);
    await run('doctor', ...json);
  }
  await run('send', 'plan.created');
  await run('send', 'plan.created', '--client-id', partner.clientId, '--client-secret-file', secretFile(wrong));
  await run('send', 'plan.created', '--api-key-file', secretFile(wrong));
  const away = await cli.run(['admin', 'clients', 'create', 'partner', 'x'], {
    REDIS_URL: `redis://bob:${wrong}@127.0.0.1:1`,
  });
  printed.push(away.out, away.err);
}

async function collect(): Promise<void> {
  const { stack, ingress, worker } = relay;
  const marker = envelope.id;
  places.set('Redis', { text: await dumpOf(stack.redis), marker });
  places.set('the topics', { text: await recordsOf(stack), marker });
  places.set('the files of Kafka', { text: filesOf(servers.folder('kafka'), '.log'), marker });
  places.set('the files of Redis', { text: filesOf(servers.folder('redis'), '.aof'), marker });
  // What was written last stands in the log beside it.
  places.set('the files of the index', { text: filesOf(index, ''), marker: partner.clientId });
  // Metrics carry no ids.
  for (const app of [ingress, worker, operations])
    places.set(`/metrics of ${app.role}`, { text: await app.metrics(), marker: `role="${app.role}"` });

  // In trouble a program says more than it should.
  const headers = { ...bearer(await partner.token()), 'x-request-id': marker };
  servers.kill('redis');
  for (const app of [ingress, operations])
    await until(`the ${app.role} misses Redis`, async () =>
      JSON.stringify((await app.health()) ?? {}).includes('redis'),
    );
  await askIngress('GET', `/auth/session/${sessionId}`, { headers, expected: 503, isOwn: true });
  const body = { eventType: 'plan.created', endPointUrl: relay.receiver.url('/y'), apiKey };
  await askIngress('POST', '/webhooks', { headers, body, expected: 503 });
  const asOperator = { ...basic(operator.clientId, operator.clientSecret), 'x-request-id': marker };
  await askOperations('/webhooks', { headers: asOperator, expected: 503 });
  await run('doctor');
  places.set('the log of the ingress', { text: ingress.log.join('\n'), marker });
  places.set('the log of the worker', { text: worker.log.join('\n'), marker });
  places.set('the log of operations', { text: operations.log.join('\n'), marker });
  places.set('the answers', { text: answers.texts.join('\n'), marker });
  places.set('what the commands printed', { text: printed.join('\n'), marker });
}

it('no place holds a secret, in any encoding', () => {
  const found = [...places].flatMap(([place, { text }]) => canaries.in(text).map((name) => `${name} in ${place}`));
  expect(found).toEqual([]);
  expect(canaries.names.length).toBeGreaterThan(25);
});

it('all of thirteen places are searched: something harmless that must be there is found in each', () => {
  expect(places.size).toBe(13);
  const unseen = [...places].filter(([, { text, marker }]) => !stands(marker, text)).map(([place]) => place);
  expect(unseen).toEqual([]);
  expect(answers.surprises).toEqual([]);
  const planted = new Canaries();
  const echoing = ['the topics', 'the files of the index', 'the answers', 'what the commands printed', 'Redis'];
  const echoes = echoing.map((place) => places.get(place));
  for (const echo of echoes) expect(echo?.text.toString()).toMatch(/"x-request-id": ?"left out: it repeats/);
  planted.plant('planted', canary('planted'));
  for (const { text } of places.values()) expect(planted.in(text)).toEqual([]);
});
