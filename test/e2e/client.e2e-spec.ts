import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Envelope, RelayClient, verifyDelivery } from '@relay/client';
import { freePort } from '@relay/testing';
import { anEnvelope, type Client } from '../support/client.js';
import { Document } from '../support/document.js';
import type { Received } from '../support/receiver.js';
import { Relay } from '../support/relay.js';
import { Program } from '../support/terminal.js';
import { until } from '../support/until.js';

const root = join(import.meta.dirname, '..', '..');

let relay: Relay;
let partner: Client;
let source: RelayClient;
const as = ({ clientId, clientSecret }: Client): RelayClient =>
  new RelayClient({ url: relay.ingress.url, clientId, clientSecret });
beforeAll(async () => {
  relay = await Relay.start();
  partner = await relay.partner();
  source = as(await relay.source());
});
afterAll(() => relay.close());

describe('@relay/client', () => {
  it('registers, sends, and verifies what arrives, before, while and after the secret rotates', async () => {
    const client = as(partner);
    const endPointUrl = relay.receiver.url('/client');
    const { id } = await client.call('registerWebhook', {
      body: { eventType: 'plan.updated', endPointUrl, apiKey: 'k' },
    });
    const { secret: old } = await client.call('readWebhookSecret', { path: { id } });
    const arrived = async () => {
      const envelope = Envelope.parse(anEnvelope({ type: 'plan.updated', payload: { text: 'Grüße, 東京 🌍' } }));
      expect(await source.call('sendEnvelope', { body: envelope })).toMatchObject({ status: 'accepted' });
      const isIt = ({ headers }: Received) => headers['webhook-id'] === envelope.id;
      const found = await until('it arrives', () => relay.receiver.at('/client').find(isIt));
      return { envelope, headers: found.headers, body: found.body };
    };
    const before = await arrived();
    expect(verifyDelivery(before.headers, before.body, old, Date.now())).toMatchObject({
      genuine: true,
      id: before.envelope.id,
    });

    const { secret } = await client.call('rotateWebhookSecret', { path: { id } });
    const after = await arrived();
    for (const one of [old, secret])
      expect(verifyDelivery(after.headers, after.body, one, Date.now())).toMatchObject({ genuine: true });
    expect(verifyDelivery(before.headers, before.body, secret, Date.now())).toMatchObject({ genuine: false });
  });
});

/** Compiles only if the written types have every event type, and tell them apart. */
const USES = `import type { EventType, NoticeType } from '@partner-relay/client';
import type { Envelope, EnvelopeOf, Payloads } from './events.mjs';
export const hasAll: Exclude<EventType | NoticeType, keyof Payloads> extends never ? true : false = true;
export const userOf = (envelope: Envelope): string =>
  envelope.type === 'task.created' ? envelope.payload.userId : envelope.type === 'webhook.enabled' ? envelope.payload.origin : '';
// @ts-expect-error A task has a plan.
export const payload: EnvelopeOf<'task.created'>['payload'] = { id: '', userId: '' };
`;

describe('the package of libs/clients/client', () => {
  const project = mkdtempSync(join(tmpdir(), 'relay-package-'));
  afterAll(() => rmSync(project, { recursive: true }));

  it('compiles and runs the examples of its README, and compiles the types it writes, in a project that has nothing but zod', async () => {
    const modules = join(project, 'node_modules');
    mkdirSync(join(modules, '@types'), { recursive: true });
    for (const name of ['zod', '@types/node', 'undici-types'])
      symlinkSync(join(root, 'node_modules', name), join(modules, name));
    const assembled = join(modules, '@partner-relay', 'client');
    execFileSync(process.execPath, [join(root, 'scripts', 'client-package.mjs'), assembled], { stdio: 'pipe' });

    const port = await freePort();
    const example = (path: string, words: string, name: string): string => {
      const code = [
        ['http://127.0.0.1:3000', relay.ingress.url],
        ['3400', String(port)],
        ['partner_…', partner.clientId],
        ['relay_sk_…', partner.clientSecret],
      ].reduce(
        (text, [printed = '', ours = '']) => text.replaceAll(printed, ours),
        new Document(path).block('ts', words),
      );
      const file = join(project, name);
      writeFileSync(file, code);
      return file;
    };
    const readme = 'libs/clients/client/README.md';
    const first = example('docs/integrate/first-webhook.md', 'registerWebhook', 'first.mts');
    const [file, states] = [
      example(readme, 'verifyDelivery', 'receiver.mts'),
      example(readme, 'listWebhookStates', 'states.mts'),
    ];
    const main = join(assembled, 'clients', 'client', 'main.js');
    const types = ['types', '--url', relay.ingress.url, '--out', join(project, 'events.mts')];
    execFileSync(process.execPath, [main, ...types], { stdio: 'pipe' });
    const uses = join(project, 'uses.mts');
    writeFileSync(uses, USES);
    const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
    const settings = ['--strict', '--target', 'es2023', '--module', 'nodenext', '--types', 'node'];
    execFileSync(process.execPath, [tsc, '--noEmit', ...settings, first, file, states, uses], {
      cwd: project,
      stdio: 'pipe',
    });

    expect(execFileSync(process.execPath, [first], { encoding: 'utf8' })).toMatch(/^\{ secret: 'whsec_.+' \}$/m);
    const receiver = new Program(process.execPath, [file]);
    try {
      await until(
        'it listens',
        () =>
          fetch(`http://127.0.0.1:${port}`).then(
            () => true,
            () => false,
          ),
        { seen: () => receiver.output },
      );
      const envelope = Envelope.parse(anEnvelope());
      await source.call('sendEnvelope', { body: envelope });
      await receiver.prints(new RegExp(`^verified task.created ${envelope.id}$`, 'm'));
      const forged = await fetch(`http://127.0.0.1:${port}`, { method: 'POST', body: '{}' });
      expect([forged.status, await forged.text()]).toEqual([401, 'header-missing']);
      const told = execFileSync(process.execPath, [states], { encoding: 'utf8' });
      expect(told).toContain(`http://127.0.0.1:${port}/tasks active 0 0\n`);
      expect(told.endsWith('retried 0 of 0\n')).toBe(true);
    } finally {
      await receiver.end();
    }
  });
});
