import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { Client } from '../support/client.js';
import { Program } from '../support/terminal.js';

const Login = z.object({ clientId: z.string(), clientSecret: z.string() });
const Started = z.object({
  relay: z.url(),
  docs: z.url(),
  receiver: z.url(),
  partner: Login,
  source: Login,
  operator: Login,
  credentials: z.string(),
  commands: z.string(),
});
const STARTED = /^Ctrl-C ends the relay/m;

describe('npm start', () => {
  const parent = mkdtempSync(join(tmpdir(), 'home-'));
  const home = join(parent, 'ünï, a');
  const ports = ['PORT', 'OPERATIONS_PORT', 'RECEIVER_PORT', 'KAFKA_PORT', 'KAFKA_CONTROLLER_PORT', 'REDIS_PORT']
    .concat(['INGRESS', 'WORKER', 'OPERATIONS'].map((role) => `${role}_HEALTH_PORT`))
    .map((name) => [name, '0']);
  const env: Record<string, string> = {
    ...Object.fromEntries(ports),
    RELAY_HOME: home,
    RELAY_CONTAINERS: '0',
    LC_ALL: 'C',
    KAFKA_BROKERS: '',
    REDIS_URL: '',
  };
  const program = (name: string, ...args: string[]) =>
    new Program(process.execPath, [`scripts/${name}.mjs`, ...args], env);
  let start: Program;
  afterAll(async () => {
    await start?.end();
    rmSync(parent, { recursive: true, force: true });
  });

  const codeIn = (link: string): string => new URLSearchParams(new URL(link).hash.slice(1)).get('code') ?? '';
  /** Statuses of the first and the second use of a link. */
  const opened = async (link: string): Promise<number[]> => {
    const { origin, pathname } = new URL(link);
    expect(await (await fetch(link)).text()).toContain('<!doctype html>');
    const path = pathname === '/' ? '/session/code' : '/portal/tokens';
    const headers = { 'content-type': 'application/json' };
    const body = JSON.stringify({ code: codeIn(link) });
    const use = async () => (await fetch(origin + path, { method: 'POST', headers, body })).status;
    return [await use(), await use()];
  };
  const linkIn = (text: string, label = ''): string =>
    new RegExp(`${label} *(http\\S+#code=\\S+)`).exec(text)?.[1] ?? '';

  it('says in 12 lines of words how to go on, with links that open once, and keeps its data in its own folder', async () => {
    start = program('start');
    await start.prints(STARTED);
    expect(start.output.split('\n').length - 1).toBeLessThanOrEqual(12);
    expect(start.output).not.toMatch(/[{}]|relay_sk_|warning/);
    expect(start.output).toContain('npm run demo');
    expect(await opened(linkIn(start.output, 'Portal'))).toEqual([200, 404]);
    expect(await opened(linkIn(start.output, 'Console'))).toEqual([200, 404]);
    expect(statSync(join(home, 'demo.env')).mode & 0o777).toBe(0o600);
    expect([readdirSync(parent), readdirSync(home)]).toEqual([['ünï, a'], expect.arrayContaining(['kafka', 'redis'])]);
  });

  it.each(['portal', 'console'])('prints a new link to the %s of the relay that runs', async (place) => {
    const fresh = program('start', place);
    expect(await fresh.ended()).toBe(0);
    expect(await opened(linkIn(fresh.output))).toEqual([200, 404]);
  });

  it('has a demonstration whose webhooks are four however often it is run, and of which one fails and heals', async () => {
    for (const _ of [1, 2]) {
      const demo = program('demo');
      expect([await demo.ended(), demo.output]).toEqual([
        0,
        expect.stringMatching(/All 32 are delivered, 4 of them by a/),
      ]);
      expect(demo.output.split('\n').length - 1).toBeLessThanOrEqual(8);
    }
    expect(start.output.match(/^receiver +\| POST \/archive .*answered 503/gm)).toHaveLength(8);
  });

  it('tells scripts all of it as one JSON document, with the clients of the former start', async () => {
    const kept = readFileSync(join(home, 'demo.env'), 'utf8');
    expect(await start.end('SIGINT')).toBe(0);
    expect(await program('start', 'portal').ended()).toBe(1);
    start = program('start', '--json');
    const [line] = await start.prints(/^\{.*\}$/m);
    const started = Started.parse(JSON.parse(line));
    const { clientId, clientSecret } = started.partner;
    expect(kept).toContain(`PARTNER=${clientId}:${clientSecret}\n`);
    expect(started.credentials).toBe(join(home, 'demo.env'));
    const [before] = started.commands.split('# the same bytes in the topic');
    const shell = new Program('bash', ['-e', '-c', before ?? '']);
    expect([await shell.ended(), shell.output]).toEqual([0, expect.stringMatching(/"accepted"[^]*POST \/hook /)]);
    const { json } = await new Client(started.relay, clientId, clientSecret).request('GET', '/webhooks/status');
    expect(json['webhooks']).toHaveLength(5);
  });
});
