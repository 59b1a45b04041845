import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '@relay/testing';
import { Webhook } from 'standardwebhooks';
import type { Client } from '../support/client.js';
import { Document } from '../support/document.js';
import { Relay } from '../support/relay.js';
import { Program, Terminal } from '../support/terminal.js';
import { until } from '../support/until.js';

const root = join(import.meta.dirname, '..', '..');
const inIntegrate = (name: string): Document => new Document(`docs/integrate/${name}.md`);
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
  const untilListens = (): Promise<boolean> =>
    until('the receiver listens', () =>
      fetch(`http://127.0.0.1:${port}`).then(
        () => true,
        () => false,
      ),
    );

  describe('docs/integrate', () => {
    const first = inIntegrate('first-webhook');
    const [login = '', register = '', test = '', ...others] = first.blocks('bash');
    const receive = (page: Document, words: string, secret: string): Program => {
      const receiver = Program.module(real(page.block('js', words)), { WEBHOOK_SECRET: secret });
      programs.push(receiver);
      return receiver;
    };

    it('leads from credentials to a verified test, and to an envelope of a source', async () => {
      expect(others).toEqual([]);
      await run(login);
      const { secret } = JSON.parse(await run(register)) as { secret: string };
      const receiver = receive(first, 'standardwebhooks', secret);
      await untilListens();
      expect(JSON.parse(await run(test))).toMatchObject({ delivered: true, status: 204 });
      await receiver.prints(/^verified \{/m);

      const [authenticate = '', send = ''] = inIntegrate('send').blocks('bash');
      await run(authenticate);
      const accepted = JSON.parse(inIntegrate('send').block('json', '"accepted"')) as { id: string };
      expect(JSON.parse(await run(send))).toEqual(accepted);
      await receiver.prints(new RegExp(`^verified \\{\\s+id: '${accepted.id}'`, 'm'));
      expect(JSON.parse(await run(send))).toMatchObject({ status: 'duplicate' });
      await receiver.end();
    });

    it('has commands that run, and a receiver that tells a delivery from its repeat and from a forgery', async () => {
      await run(login);
      const printed: Record<string, unknown>[] = [];
      const pages = ['webhooks', 'notices', 'verify', 'deliveries', 'replay'].map(inIntegrate);
      for (const step of pages.flatMap((page) => page.blocks('bash'))) {
        const text = (await run(step)).trim();
        printed.push(...text.split(/(?<=[}\]])(?=[{[])/).flatMap((json) => (json === '' ? [] : JSON.parse(json))));
      }
      const uuid = expect.stringMatching(/^[0-9a-f-]{36}$/);
      const secret = { secret: expect.stringMatching(/^whsec_/) };
      expect(printed).toEqual([
        { id: uuid },
        expect.objectContaining({ id: uuid, eventType: 'task.updated', endPointName: 'tasks', endPointDesc: null }),
        expect.objectContaining({ delivered: false, ...secret }),
        { sessionId: expect.any(String) },
        { id: uuid },
        secret,
        { deliveries: [] },
        {
          webhooks: expect.arrayContaining([expect.objectContaining({ eventType: 'task.updated', failureRate: null })]),
        },
        { deliveries: [] },
        { matched: 0, retried: 0, refused: [], cursor: null, until: expect.any(String) },
        expect.objectContaining({ id: null, state: 'dry-run' }),
      ]);

      const key = String(printed.at(5)?.['secret']);
      const receiver = receive(inIntegrate('verify'), 'createHmac', key);
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
        const signature = new Webhook(key).sign(envelope.id, now, text);
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
