import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { anEnvelope } from '../support/client.js';
import { Program } from '../support/terminal.js';
import { until } from '../support/until.js';

const root = join(import.meta.dirname, '..', '..');
const folder = mkdtempSync(join(tmpdir(), 'relay-dev-'));
const made = join(folder, 'package');
const home = join(folder, 'data');
const anyPort = Object.fromEntries(
  ['', 'OPERATIONS_', 'INGRESS_HEALTH_', 'WORKER_HEALTH_', 'OPERATIONS_HEALTH_', 'RECEIVER_', 'KAFKA_', 'REDIS_'].map(
    (name) => [`${name}PORT`, '0'],
  ),
);
const env = { RELAY_HOME: home, KAFKA_CONTROLLER_PORT: '0', ...anyPort };
// The tests' own Kafka and Redis are not those that it starts.
for (const given of ['KAFKA_BROKERS', 'REDIS_URL']) delete process.env[given];
/** As npm's link to it: no name of a script is in the command line. */
const command = join(folder, 'partner-relay');
const partnerRelay = (args: readonly string[], more: Readonly<Record<string, string>> = {}): Program =>
  new Program(process.execPath, [command, ...args], { ...env, ...more });
const jsonOf = (name: string): unknown => JSON.parse(readFileSync(join(home, name), 'utf8'));
const urlOf = (): string => (jsonOf('start.json') as { url: string }).url;
const pidOfRedis = (): number => (jsonOf('stack.json') as { redis: { pid: number } }).redis.pid;

beforeAll(() => {
  execFileSync(process.execPath, [join(root, 'scripts', 'dev-package.mjs'), made], { stdio: 'pipe' });
  symlinkSync(join(root, 'node_modules'), join(made, 'node_modules'));
  symlinkSync(join(made, 'scripts', 'dev.mjs'), command);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function asked(kind: 'partner' | 'source', method: string, path: string, body?: object): Promise<unknown> {
  const url = urlOf();
  const lines = readFileSync(join(home, 'demo.env'), 'utf8');
  const [, login = ''] = new RegExp(`^${kind.toUpperCase()}=(.+)$`, 'm').exec(lines) ?? [];
  const authorization = `Basic ${Buffer.from(login).toString('base64')}`;
  const asking = await fetch(`${url}/auth/token`, { method: 'POST', headers: { authorization } });
  const { access_token: token } = (await asking.json()) as { access_token: string };
  const answer = await fetch(url + path, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  });
  return answer.json();
}

/** The port that a server takes. */
async function portOf(server: Server): Promise<number> {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return (server.address() as AddressInfo).port;
}

describe('partner-relay dev', () => {
  it('delivers, is refused a second time, and after SIGKILL has its data and ends all that it started', async () => {
    const received: string[] = [];
    const endpoint = createServer((request, response) => {
      received.push(String(request.headers['webhook-id']));
      response.end();
    });
    const endPointUrl = `http://127.0.0.1:${await portOf(endpoint)}/`;
    let running = partnerRelay(['dev']);
    try {
      await running.prints(/Send one +npx partner-relay demo/);
      await asked('partner', 'POST', '/webhooks', { eventType: 'task.created', endPointUrl, apiKey: 'k' });
      await asked('source', 'POST', '/deliveries', anEnvelope());
      await until('it is delivered', () => received.length === 1);

      const second = partnerRelay(['dev']);
      expect(await second.ended()).toBe(1);
      expect(second.output).toContain(`Partner Relay runs with the data of ${home} already: ${urlOf()}\n`);

      await running.end('SIGKILL');
      running = partnerRelay(['dev']);
      await running.prints(/\/portal/);
      await asked('source', 'POST', '/deliveries', anEnvelope());
      await until('it is delivered by the webhook of before', () => received.length === 2);

      const demo = partnerRelay(['demo']);
      expect([await demo.ended(), demo.output]).toEqual([
        0,
        expect.stringMatching(/Portal +http.+\nConsole +http.+#code=/),
      ]);
      const doctor = partnerRelay(['relay', 'partners', 'list', '--json']);
      expect([await doctor.ended(), JSON.parse(doctor.output)]).toEqual([
        0,
        [expect.objectContaining({ name: 'demo' })],
      ]);
      expect(await running.end()).toBe(0);
      expect(jsonOf('stack.json')).not.toHaveProperty('kafka.pid');
      expect(existsSync(join(home, 'start.json'))).toBe(false);
    } finally {
      await running.end();
      endpoint.close();
    }
  });

  it('ends with an error once Redis has, so that a container is started again', async () => {
    const running = partnerRelay(['dev']);
    try {
      await running.prints(/\/portal/);
      process.kill(pidOfRedis(), 'SIGKILL');
      expect(await running.ended()).toBe(1);
      expect(running.output).toContain('error: redis ended');
    } finally {
      await running.end();
    }
  });

  it('names a program that is missing, and installs none', async () => {
    const bin = join(folder, 'bin');
    mkdirSync(bin);
    const running = partnerRelay(['dev'], { PATH: bin, RELAY_HOME: join(folder, 'none') });
    expect(await running.ended()).toBe(1);
    expect(running.output).toContain('error: missing: java (17 or newer), redis-server\n');
    expect(running.output).not.toContain('installing');
  });

  it('names a folder that it cannot write to, and a port that is taken', async () => {
    const wrong = partnerRelay(['dev'], { RELAY_HOME: command });
    expect([await wrong.ended(), wrong.output]).toEqual([1, expect.stringContaining(`cannot be written to: EEXIST`)]);
    const other = createServer();
    const PORT = String(await portOf(other));
    const taken = partnerRelay(['dev'], { PORT });
    expect([await taken.ended(), taken.output]).toEqual([
      1,
      `error: PORT=${PORT}: another process uses this port: stop it, or set another PORT\n`,
    ]);
    other.close();
  });
});
