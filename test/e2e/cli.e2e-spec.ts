import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { anEnvelope, call, Client } from '../support/client.js';
import { CommandLine } from '../support/command-line.js';
import { Relay } from '../support/relay.js';
import { aJwt, secretFile } from '../support/secret-file.js';
import { until } from '../support/until.js';

let relay: Relay;
let cli: CommandLine;
let operator: Secret;
let folder: string;
beforeAll(async () => {
  relay = await Relay.start();
  const env = await relay.stack.commandEnv();
  cli = new CommandLine({ ...env, PUBLIC_URL: relay.ingress.url });
  operator = { clientId: env['OPERATOR_CLIENT_ID'] ?? '', clientSecret: env['OPERATOR_CLIENT_SECRET'] ?? '' };
  folder = mkdtempSync(join(tmpdir(), 'relay-cli-'));
});
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await relay.close();
});

const clientOf = ({ clientId, clientSecret }: Secret): Client => new Client(relay.ingress.url, clientId, clientSecret);
interface Secret {
  readonly clientId: string;
  readonly clientSecret: string;
}
const isKnown = (secret: Secret): Promise<boolean> =>
  clientOf(secret)
    .token()
    .then(
      () => true,
      // The ingress counts the failures of a network: this must not be asked in every moment.
      () => new Promise((resolve) => void setTimeout(resolve, 400, false)),
    );

/** As an operator is told. */
const isActive = async (token: string): Promise<boolean> => {
  const basic = Buffer.from(`${operator.clientId}:${operator.clientSecret}`).toString('base64');
  const answer = await call('POST', `${relay.ingress.url}/auth/introspect`, {
    headers: { authorization: `Basic ${basic}`, 'content-type': 'application/x-www-form-urlencoded' },
    body: `token=${token}`,
  });
  return answer.json['active'] === (true as unknown);
};

it('relay operators changes the role of an operator, and keeps the last admin', async () => {
  const made = await cli.json<Secret>(['operators', 'create', 'rises', '--role', 'viewer']);
  const { clientId } = made;
  expect(await cli.json(['operators', 'change', clientId, '--role', 'admin'])).toEqual({ clientId, role: 'admin' });
  expect(await cli.run(['operators', 'change', clientId, '--role', 'viewer'])).toMatchObject({
    code: 0,
    out: `${clientId} has the role viewer.\n`,
  });
  const last = await cli.run(['operators', 'change', operator.clientId, '--role', 'viewer']);
  expect([last.code, last.out]).toEqual([1, '']);
  expect(last.err).toContain('is the last enabled admin: create or enable another one first');
  const partner = await cli.json<Secret>(['partners', 'create', 'no role']);
  expect((await cli.run(['operators', 'change', partner.clientId, '--role', 'viewer'])).err).toContain(
    `There is no operator ${partner.clientId}`,
  );
});

describe.each(['partners', 'sources', 'operators'])('relay %s', (group) => {
  const role = group === 'operators' ? ['--role', 'viewer'] : [];

  it('creates one whose secret is shown once, lists, rotates and disables it', async () => {
    const first = await cli.json<Secret>([group, 'create', 'acme & sons', ...role]);
    await clientOf(first).token();

    const second = await cli.json<Secret>([group, 'rotate', first.clientId]);
    expect(second.clientSecret).not.toBe(first.clientSecret);
    await clientOf(first).token();
    await until('the ingress knows the new secret', () => isKnown(second));
    expect(await cli.run([group, 'rotate', first.clientId])).toMatchObject({
      code: 1,
      err: expect.stringContaining('was rotated less than 60 s ago'),
    });
    expect(await isKnown(first)).toBe(true);

    const list = await cli.json<object[]>([group, 'list']);
    expect(list).toContainEqual(
      expect.objectContaining({ clientId: first.clientId, name: 'acme & sons', disabled: false }),
    );
    expect(JSON.stringify(list)).not.toMatch(/relay_sk_|hash/i);

    expect(await cli.run([group, 'disable', first.clientId])).toMatchObject({
      code: 0,
      out: `${first.clientId} is disabled.\n`,
    });
    await until('the ingress refuses it', async () => !(await isKnown(second)));

    expect(await cli.json([group, 'enable', first.clientId])).toEqual({ clientId: first.clientId, disabled: false });
    await until('the ingress takes it again', () => isKnown(second));
    expect(await cli.run([group, 'enable', first.clientId])).toMatchObject({
      code: 0,
      out: `${first.clientId} is enabled.\n`,
    });
  });

  it('ends what was fetched with a secret: at once if asked to, by the second rotation and by a disabling in any case', async () => {
    const first = await cli.json<Secret>([group, 'create', 'robbed', ...role]);
    const rotate = (...options: string[]) => cli.json<Secret>([group, 'rotate', first.clientId, '--force', ...options]);
    const stolen = await clientOf(first).token();
    const second = await rotate();
    await until('the ingress knows the new secret', () => isKnown(second));
    const between = await clientOf(second).token();
    expect([await isActive(stolen), await isActive(between)]).toEqual([true, true]);
    const third = await rotate();
    await until('what was fetched with the first has ended', async () => !(await isActive(stolen)));
    expect([await isActive(between), await isKnown(first), await isKnown(second)]).toEqual([true, false, true]);

    const fourth = await rotate('--end-tokens');
    await until('what was fetched with the one before has ended', async () => !(await isActive(between)));
    expect([await isKnown(second), await isKnown(third), await isKnown(fourth)]).toEqual([false, false, true]);
    const last = await clientOf(fourth).token();
    expect(await isActive(last)).toBe(true);

    await cli.run([group, 'disable', first.clientId]);
    await until('what was fetched has ended', async () => !(await isActive(last)));
    await cli.run([group, 'enable', first.clientId]);
    await until('the ingress takes it again', () => isKnown(fourth));
    expect([await isActive(last), await isActive(await clientOf(fourth).token())]).toEqual([false, true]);
  });

  it('says that an id is none of its own', async () => {
    const { code, out, err } = await cli.run([group, 'disable', 'nobody']);
    expect([code, out]).toEqual([1, '']);
    expect(err).toBe(
      `error: There is no ${group.slice(0, -1)} nobody: \`relay ${group} list\` shows the existing ones.\n`,
    );
  });
});

describe('relay sources create and relay send', () => {
  it('gives a source the credential asked for, and the ingress takes it', async () => {
    const envelope = () => ({ body: anEnvelope({ type: 'message.created' }) });
    const post = (headers: Record<string, string>) =>
      call('POST', `${relay.ingress.url}/deliveries`, { headers, ...envelope() });
    const { apiKey } = await cli.json<{ apiKey: string }>(['sources', 'create', 'keyed', '--api-key']);
    expect(await post({ 'x-api-key': apiKey })).toMatchObject({ status: 202 });
    const basic = await cli.json<{ userName: string; password: string }>([
      'sources',
      'create',
      'basic',
      '--basic',
      'bob',
    ]);
    const encoded = Buffer.from(`bob:${basic.password}`).toString('base64');
    expect(await post({ authorization: `Basic ${encoded}` })).toMatchObject({ status: 202 });
    const jwt = aJwt();
    const shown = await cli.json<object>(['sources', 'create', 'jwt', '--jwt-file', secretFile(`${jwt}\n`)]);
    expect(Object.keys(shown)).toEqual(['clientId']);
    expect(await post({ authorization: `Bearer ${jwt}` })).toMatchObject({ status: 202 });
    const again = await cli.run(['sources', 'create', 'again', '--jwt-file', '-'], {}, jwt);
    expect(again).toMatchObject({ code: 1, out: '', err: 'error: Another source has this credential.\n' });
    const sent = { code: 0, out: expect.stringMatching(/^([0-9a-f-]{36}\n){20}$/) };
    const send = ['send', 'message.created', '--count', '20', '--api-key-file'];
    expect(await cli.run([...send, secretFile(apiKey)])).toMatchObject(sent);
    expect(await cli.run([...send, '-'], {}, `${apiKey}\n`)).toMatchObject(sent);
  });

  it('takes a fixed JWT that cannot be guessed only, and repeats none in what it says', async () => {
    const weak = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJ4In0.c2lnbmF0dXJl';
    for (const [text, why] of [
      ['a', 'it does not have three parts in base64url with dots between them'],
      [weak, 'its signature has 9 bytes: at least 32 are expected'],
    ] as const) {
      const refused = await cli.run(['sources', 'create', 'weak', '--jwt-file', '-'], {}, text);
      expect(refused).toMatchObject({ code: 1, out: '', err: `error: That is no signed JWT: ${why}.\n` });
    }
    const empty = await cli.run(['sources', 'create', 'none', '--jwt-file', '-']);
    expect(empty).toMatchObject({ code: 1, err: expect.stringContaining('Standard input is empty') });
    const missing = await cli.run(['sources', 'create', 'none', '--jwt-file', '/nowhere']);
    expect(missing).toMatchObject({ code: 1, err: expect.stringContaining('/nowhere cannot be read') });
  });

  it('sends a payload as it is written, as the source of the environment, to the partner it is bound to', async () => {
    const [acme, beta] = [await relay.partner('acme'), await relay.partner('beta')];
    for (const [partner, path] of [
      [acme, '/acme'],
      [beta, '/beta'],
    ] as const)
      await partner.register({ eventType: 'plan.created', endPointUrl: relay.receiver.url(path), apiKey: 'key' });
    const source = await cli.json<Secret>(['sources', 'create', 'bound', '--partner', acme.clientId]);
    const settings = { RELAY_CLIENT_ID: source.clientId, RELAY_CLIENT_SECRET: source.clientSecret };
    const payload = '{ "b": 12345678901234567890, "a": 1.10 }';
    writeFileSync(join(folder, 'payload.json'), payload);
    const args = ['send', 'plan.created', '--payload', join(folder, 'payload.json')];
    const { ids } = await cli.json<{ ids: string[] }>(args, settings);
    await until('it arrives', () => relay.receiver.at('/acme').length === 1);
    expect(relay.receiver.at('/acme')[0]?.body.toString()).toBe(
      `{"id":"${ids[0]}","type":"plan.created","payload":${payload}}`,
    );
    expect(relay.receiver.at('/beta')).toEqual([]);
    const wrong = await cli.run([...args, '--client-secret-file', '-'], settings, 'wrong');
    expect(wrong).toMatchObject({ code: 1, out: '', err: expect.stringContaining('invalid_client') });
  });
});

it('npm run relay asks in development as clients that it makes once', async () => {
  const { OPERATOR_CLIENT_ID: _id, OPERATOR_CLIENT_SECRET: _secret, ...known } = await relay.stack.commandEnv();
  const env = { ...known, RELAY_ENV: 'development', RELAY_HOME: folder, PUBLIC_URL: relay.ingress.url };
  const script = join(import.meta.dirname, '..', '..', 'scripts', 'role.mjs');
  const run = async (...args: string[]): Promise<unknown> =>
    JSON.parse((await promisify(execFile)(process.execPath, [script, 'cli', ...args, '--json'], { env })).stdout);
  expect(await run('partners', 'create', 'typed by nobody')).toMatchObject({ clientSecret: expect.any(String) });
  expect(await run('send', 'task.created')).toMatchObject({ ids: [expect.any(String)], refused: [] });
  const operators = (await run('operators', 'list')) as { name: string }[];
  expect(operators.filter(({ name }) => name === 'demo')).toHaveLength(1);
});

describe('relay topics', () => {
  it('names a topic that is missing, makes it, and is content', async () => {
    const topic = relay.stack.topic('tax_return.filed.dlq').name;
    expect(await cli.run(['topics', 'check'])).toMatchObject({ code: 0 });
    await relay.stack.dropTopics(topic);
    const missing = await cli.run(['topics', 'check']);
    expect(missing).toMatchObject({ code: 1, out: `The topic ${topic} is missing: run \`relay topics create\`.\n` });
    expect(await cli.json(['topics', 'create'])).toEqual({ created: [topic] });
    await until('it is there', async () => (await cli.run(['topics', 'check'])).code === 0);
  });
});

describe('relay while a store, or the operations app,', () => {
  let silent: Server;
  let address: string;
  beforeAll(async () => {
    silent = createServer(() => undefined).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    address = `127.0.0.1:${(silent.address() as AddressInfo).port}`;
  });
  afterAll(() => silent.close());

  it.each([
    ['refuses connections', () => '127.0.0.1:1'],
    ['takes connections and says nothing', () => address],
  ])('%s ends within seconds with one sentence', async (_, where) => {
    const redis = await cli.run(['admin', 'clients', 'create', 'partner', 'x'], {
      REDIS_URL: `redis://user:secret@${where()}`,
    });
    expect(redis).toMatchObject({ code: 1, out: '' });
    expect(redis.err).toMatch(
      /^error: Redis does not answer at 127\.0\.0\.1:\d+ \(.+\): start it, or correct REDIS_URL\.\n$/,
    );
    expect(redis.err).not.toContain('secret');
    const kafka = await cli.run(['topics', 'check'], { KAFKA_BROKERS: where() });
    expect(kafka).toMatchObject({ code: 1, out: '' });
    expect(kafka.err).toMatch(/^error: Kafka does not answer at 127\.0\.0\.1:\d+ \(.+\): start it, .+\.\n$/);
    const app = await cli.run(['partners', 'list'], { OPERATIONS_URL: `http://${where()}` });
    expect(app).toMatchObject({ code: 1, out: '' });
    expect(app.err).toMatch(
      /^error: The operations app does not answer at .+: start it, or correct OPERATIONS_URL\.\n$/,
    );
    // Each has a bound of its own of some seconds; without one it would wait for ever.
    for (const { tookMs } of [redis, kafka, app]) expect(tookMs).toBeLessThan(25_000);
  });
});
