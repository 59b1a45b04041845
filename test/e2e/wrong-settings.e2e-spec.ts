import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { mainOf } from '../support/app.js';
import { givenSettings, type Settings } from '../support/stack.js';

const CANARY = 'c4n4ry7q';
const ROLE_SCRIPT = join(import.meta.dirname, '..', '..', 'scripts', 'role.mjs');

const WRONG: Settings = {
  REDIS_URL: `redis://:${CANARY}#w0rd@127.0.0.1:6379`,
  KAFKA_BROKERS: `kafka://user:${CANARY}@127.0.0.1:9092`,
  KAFKA_SSL_CA: `-----BEGIN CERTIFICATE-----\\n${CANARY}`,
  ENCRYPTION_KEYS: `kid:${CANARY}`,
};
const MORE: Readonly<Record<string, Settings>> = {
  ingress: {
    JWT_PRIVATE_KEYS: `kid:${CANARY}`,
    PUBLIC_URL: `https://user:${CANARY}@relay.example`,
    EGRESS_PROXY_URL: `http://user:${CANARY}/x@proxy:3128`,
  },
  worker: { EGRESS_PROXY_URL: `http://user:${CANARY}/x@proxy:3128`, EGRESS_DENY_CIDRS: CANARY },
  operations: { JWT_PRIVATE_KEYS: `kid:${CANARY}` },
};
const roles = Object.keys(MORE);

let home: string;
beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), 'relay-wrong-'));
});
afterAll(() => rmSync(home, { recursive: true, force: true }));

/** Runs a program with these settings alone. */
const run = (args: readonly string[], settings: Settings): Promise<{ code: unknown; out: string; err: string }> =>
  new Promise((resolve) => {
    const env = { PATH: process.env['PATH'] ?? '', RELAY_HOME: home, ...settings };
    const options = { env, timeout: 60_000 };
    execFile(process.execPath, args, options, (error, out, err) => resolve({ code: error?.code ?? 0, out, err }));
  });

/** What a role that did not start said of its settings, which is all that it said. */
function faultsIn({ code, out, err }: Awaited<ReturnType<typeof run>>): string[] {
  expect(out + err).not.toContain(CANARY);
  expect([code, out, err.split('\n').length]).toEqual([1, '', 2]);
  const line = JSON.parse(err) as { event: string; faults: string[] };
  expect(line.event).toBe('configuration.wrong');
  return line.faults;
}

describe.each(roles)('the %s', (role) => {
  it('names every wrong setting in one line, without a value', async () => {
    const settings = { ...WRONG, ...MORE[role] };
    const faults = faultsIn(await run([mainOf(role as 'worker')], settings));
    expect(new Set(faults.map((fault) => fault.split(' ')[0]))).toEqual(new Set(Object.keys(settings)));
    expect(faults).toHaveLength(Object.keys(settings).length);
    expect(faults.find((fault) => fault.startsWith('REDIS_URL'))).toContain('percent-encode the password');
  });

  it('does so for a secret in a file, and by the script of npm', async () => {
    const file = join(home, `redis-url-${role}`);
    writeFileSync(file, WRONG['REDIS_URL'] ?? '');
    const { REDIS_URL: _url, ...given } = givenSettings();
    const faults = faultsIn(await run([ROLE_SCRIPT, role], { ...given, REDIS_URL_FILE: file }));
    expect(faults).toEqual([expect.stringMatching(/^REDIS_URL is wrong: .*percent-encode the password/)]);
  });

  it('says nothing of a secret that Redis refuses', async () => {
    const url = givenSettings()['REDIS_URL']?.replace('//', `//:${CANARY}@`) ?? '';
    const said = await run([mainOf(role as 'worker')], { ...givenSettings(), REDIS_URL: `${url}/nowhere` });
    expect(faultsIn(said)).toHaveLength(1);
  });
});

it.each([
  ['doctor'],
  ['topics', 'check'],
  ['partners', 'list'],
  ['admin', 'clients', 'create', 'partner', 'x'],
  ['dead-letters', 'list'],
  ['keys', 'rotate'],
  ['recover'],
  ['envelopes', 'get', '7f4a4f64-9a4c-4f0e-8b57-2d2ab6f00a11'],
  ['send', 'task.created'],
])('relay %s names what is wrong, without a value', async (...args) => {
  const more = {
    PUBLIC_URL: `https://user:${CANARY}@relay.example`,
    OPERATIONS_URL: `https://user:${CANARY}@operations.example`,
    JWT_PRIVATE_KEYS: `kid:${CANARY}`,
    RELAY_CLIENT_ID: 'id',
    RELAY_CLIENT_SECRET: CANARY,
    OPERATOR_CLIENT_ID: 'id',
    OPERATOR_CLIENT_SECRET: CANARY,
  };
  const { code, out, err } = await run([mainOf('cli'), ...args], { ...WRONG, ...more });
  expect(out + err).not.toContain(CANARY);
  expect(code).toBe(1);
  expect(out + err).toMatch(/[A-Z]+_[A-Z_]+( is wrong)?: /);
});
