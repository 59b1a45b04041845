import { randomUUID } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { freePort } from '@relay/testing';
import { Webhook } from 'standardwebhooks';
import type { Client } from '../support/client.js';
import { Document } from '../support/document.js';
import { Relay } from '../support/relay.js';
import { Program, Terminal } from '../support/terminal.js';

const root = join(import.meta.dirname, '..', '..');
const readme = new Document('README.md');
const partners = new Document('docs/partners.md');
const inOperations = (name: string): Document => new Document(`docs/operations/${name}.md`);

describe('the relay as the documents show it', () => {
  let relay: Relay;
  let partner: Client;
  let source: Client;
  let terminal: Terminal;
  let port: number;
  const programs: Program[] = [];
  beforeAll(async () => {
    relay = await Relay.start();
    [partner, source] = await Promise.all([relay.partner(), relay.source()]);
    terminal = new Terminal(await relay.stack.commandEnv());
    port = await freePort();
  });
  afterAll(async () => {
    await Promise.all([...programs.map((program) => program.end()), terminal.close()]);
    await relay.close();
  });

  /** A block as printed, but for the addresses and credentials that its reader puts in. */
  const real = (code: string): string =>
    [
      ['http://127.0.0.1:3000', relay.ingress.url],
      ['3400', String(port)],
      ['partner_…:relay_sk_…', `${partner.clientId}:${partner.clientSecret}`],
      ['source_…:relay_sk_…', `${source.clientId}:${source.clientSecret}`],
    ].reduce((text, [printed = '', ours = '']) => text.replaceAll(printed, ours), code);
  const run = (code: string): Promise<string> => terminal.run(real(code));
  const started = (program: Program): Program => {
    programs.push(program);
    return program;
  };

  describe('README.md', () => {
    const sending = readme.block('bash', '/deliveries');
    const [, sent = ''] = /-d '(\{[^']+\})'/.exec(sending) ?? [];
    const { id } = JSON.parse(sent) as { id: string };

    it('registers a webhook, and the receiver it prints verifies the envelope it sends', async () => {
      await run(readme.block('bash', 'token() {'));
      const { secret } = JSON.parse(await run(readme.block('bash', '/webhooks'))) as { secret: string };
      const receiver = started(
        Program.module(real(readme.block('js', 'standardwebhooks')), { WEBHOOK_SECRET: secret }),
      );
      expect(JSON.parse(await run(sending))).toEqual({ id, type: 'task.created', status: 'accepted' });
      await receiver.prints(new RegExp(`^verified \\{\\s+id: '${id}'`, 'm'));
      expect(JSON.parse(await run(sending))).toMatchObject({ status: 'duplicate' });
      await receiver.end();
    });
  });

  describe('docs/partners.md', () => {
    const steps = partners.blocks('bash');

    it('leads to a secret, and its receiver tells a delivery from its repeat and from a forgery', async () => {
      const printed: Record<string, unknown>[] = [];
      for (const step of steps) {
        const text = (await run(step)).trim();
        printed.push(...text.split(/(?<=[}\]])(?=[{[])/).flatMap((json) => (json === '' ? [] : JSON.parse(json))));
      }
      const uuid = expect.stringMatching(/^[0-9a-f-]{36}$/);
      expect(printed).toEqual([
        { access_token: expect.any(String), token_type: 'bearer', expires_in: 3600, scope: 'webhooks sessions' },
        { id: uuid },
        expect.objectContaining({ id: uuid, eventType: 'task.updated', endPointName: 'tasks', endPointDesc: null }),
        { sessionId: expect.any(String) },
        expect.objectContaining({ delivered: false, secret: expect.stringMatching(/^whsec_/) }),
        { id: uuid },
        { secret: expect.stringMatching(/^whsec_/) },
        { deliveries: [] },
        {
          webhooks: expect.arrayContaining([expect.objectContaining({ eventType: 'task.updated', failureRate: null })]),
        },
        { deliveries: [] },
        { matched: 0, retried: 0, refused: [], cursor: null, until: expect.any(String) },
        expect.objectContaining({ id: null, state: 'dry-run' }),
      ]);

      const secret = String(printed.at(-6)?.['secret']);
      const receiver = started(Program.module(real(partners.block('js', 'createHmac')), { WEBHOOK_SECRET: secret }));
      const entity = randomUUID();
      const envelope = {
        id: randomUUID(),
        type: 'task.updated',
        payload: { id: entity, userId: entity, financialPlanId: entity },
      };
      expect(await source.post(envelope)).toMatchObject({ status: 202 });
      await receiver.prints(new RegExp(`^new ${envelope.id}$`, 'm'));

      const repeat = async (body: string): Promise<number> => {
        const [now, text] = [new Date(), JSON.stringify(envelope)];
        const signature = new Webhook(secret).sign(envelope.id, now, text);
        const timestamp = String(Math.floor(now.getTime() / 1_000));
        const headers = { 'webhook-id': envelope.id, 'webhook-timestamp': timestamp, 'webhook-signature': signature };
        return (await fetch(`http://127.0.0.1:${port}/tasks`, { method: 'POST', headers, body })).status;
      };
      expect([await repeat(JSON.stringify(envelope)), await repeat('{}')]).toEqual([204, 401]);
      await receiver.prints(new RegExp(`^repeat ${envelope.id}$`, 'm'));
    });
  });

  it('runs the commands of docs/operations/commands.md', async () => {
    const printed = await run(inOperations('commands').block('bash', 'relay -- doctor'));
    expect(printed).toMatch(
      /no fault found, \d+ warnings\n[\s\S]*"clientSecret": "relay_sk_[\s\S]*0 of 0 dead letters stored\n$/,
    );
  });

  it('has the metrics that docs/operations/metrics.md lists, and no others', async () => {
    const texts = await Promise.all([relay.ingress.metrics(), relay.worker.metrics()]);
    const names = [...texts.join('\n').matchAll(/^# TYPE (\w+)/gm)].map(([, name = '']) => name);
    expect(inOperations('metrics').column('metric').toSorted()).toEqual([...new Set(names)].toSorted());
  });
});

describe('the documents', () => {
  const pages = ['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'lab/README.md']
    .concat(
      readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
        .filter((name) => name.endsWith('.md'))
        .map((name) => join('docs', name)),
    )
    .map((path) => new Document(path));

  it.each(pages)('$path links only to files and headings that are there', (page) => {
    const broken = page.links.filter((link) => {
      const [file = '', anchor] = link.split('#');
      const target = file === '' ? page.path : normalize(join(dirname(page.path), file));
      if (!existsSync(join(root, target))) return true;
      return anchor !== undefined && !new Document(target).anchors.includes(anchor);
    });
    expect(broken).toEqual([]);
  });

  it('tell the meaning of every line that the processes log, whose event word stands in the code as a literal', () => {
    const sources = ['apps/ingress', 'apps/worker', 'apps/operations', 'libs'].flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
        .filter((name) => name.endsWith('.ts') && !name.endsWith('.spec.ts'))
        .map((name) => readFileSync(join(root, folder, name), 'utf8')),
    );
    const text = sources.join('\n');
    const said = text.matchAll(
      /(?:(?:log|throttled)\.(?:warn|error|info)\(\s*|level: 60, event: |\.warn\(\s*\{ event: )([^\s,)]+)/gi,
    );
    const names = [...said].map(([, name = '']) => name.replace(/^'(.*)'$/, '$1'));
    const explained = inOperations('log-events').column('event');
    expect(explained.toSorted()).toEqual([...new Set(names)].toSorted());
  });
});
