import { execFileSync } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { signatureHeader } from '@relay/delivery';
import { newSigningSecret } from '@relay/webhooks';
import { freePort } from '@relay/testing';
import { Document } from '../support/document.js';
import { Program } from '../support/terminal.js';
import { until } from '../support/until.js';
import { onPath, skipped } from './languages.js';

const page = new Document('docs/integrate/verify.md');
interface Receiver {
  readonly language: string;
  /** Words that only this block of its language has. */
  readonly words: string;
  readonly program: string;
  readonly file: string;
  /** The command that runs the file. */
  readonly start: (file: string) => [command: string, ...args: string[]];
}

const receivers: Receiver[] = [
  { language: 'js', words: 'createHmac', program: 'node', file: 'receiver.mjs', start: (f) => [process.execPath, f] },
  { language: 'python', words: 'hmac.new', program: 'python3', file: 'receiver.py', start: (f) => ['python3', f] },
  { language: 'java', words: 'HttpServer', program: 'java', file: 'Receiver.java', start: (f) => ['java', f] },
  {
    language: 'go',
    words: 'hmac.New',
    program: 'go',
    file: 'receiver.go',
    // Not `go run`: what that starts outlives it.
    start: (f) => {
      execFileSync('go', ['build', '-o', `${f}.out`, f], { stdio: 'pipe' });
      return [`${f}.out`];
    },
  },
];

const [SECRET = '', OTHER = ''] = [0, 1].map(() => newSigningSecret(randomBytes(32)));
const ID = randomUUID();
const BODY = Buffer.from(`{"id":"${ID}","type":"task.created","payload":{"text":"Grüße, 東京 🌍\\u2028","n":1.10}}`);
const now = (): number => Math.floor(Date.now() / 1_000);

/** A request as the worker makes it, but for what is changed. */
interface Sent {
  readonly secrets?: readonly string[];
  readonly id?: string;
  readonly seconds?: number;
  readonly body?: Buffer;
  /** Put over the signed headers; undefined leaves one out. */
  readonly headers?: Readonly<Record<string, string | undefined>>;
}

const refused: [string, (id: string) => Sent][] = [
  ['signed with another secret', () => ({ secrets: [OTHER] })],
  ['with another body than was signed', (id) => ({ headers: signed({ id, body: Buffer.from('{}') }) })],
  ['with another id than was signed', (id) => ({ headers: { 'webhook-id': id.replaceAll('-', '') } })],
  ['with another time than was signed', () => ({ headers: { 'webhook-timestamp': String(now() - 1) } })],
  ['signed six minutes ago', () => ({ seconds: now() - 360 })],
  ['signed for six minutes from now', () => ({ seconds: now() + 360 })],
  ['without a signature', () => ({ headers: { 'webhook-signature': undefined } })],
  ['with an empty signature', () => ({ headers: { 'webhook-signature': '' } })],
  ['with half a signature', (id) => ({ headers: { 'webhook-signature': signatureOf(id).slice(0, 20) } })],
  [
    'with a signature of another version',
    (id) => ({ headers: { 'webhook-signature': `v2${signatureOf(id).slice(2)}` } }),
  ],
  ['without a time', () => ({ headers: { 'webhook-timestamp': undefined } })],
  ['with a time that is none', () => ({ headers: { 'webhook-timestamp': '1e9' } })],
  [
    'with no header of ours',
    () => ({ headers: Object.fromEntries(Object.keys(signed({})).map((name) => [name, undefined])) }),
  ],
];

function signed({ secrets = [SECRET], id = ID, seconds = now(), body = BODY }: Sent): Record<string, string> {
  return {
    'webhook-id': id,
    'webhook-timestamp': String(seconds),
    'webhook-signature': signatureHeader(secrets, id, seconds, body),
  };
}

const signatureOf = (id: string): string => signed({ id })['webhook-signature'] ?? '';

describe.each(receivers)(
  'the $language receiver of docs/integrate/verify.md',
  ({ language, words, program, file, start }) => {
    if (!onPath(program)) {
      skipped(`skipped: no ${program}`);
      return;
    }

    const folder = mkdtempSync(join(tmpdir(), 'relay-receiver-'));
    let receiver: Program;
    let url: string;
    beforeAll(async () => {
      const port = await freePort();
      url = `http://127.0.0.1:${port}/tasks`;
      const path = join(folder, file);
      writeFileSync(path, page.block(language, words).replace('3400', String(port)));
      const [command, ...args] = start(path);
      receiver = new Program(command, args, { WEBHOOK_SECRET: SECRET });
      await until(
        'it listens',
        () =>
          fetch(url, { method: 'POST', body: '' }).then(
            () => true,
            () => false,
          ),
        {
          seen: () => receiver.output,
        },
      );
    });
    afterAll(async () => {
      await receiver?.end();
      rmSync(folder, { recursive: true });
    });

    const post = async (sent: Sent): Promise<number> => {
      const headers = Object.entries({ ...signed(sent), ...sent.headers });
      const given = headers.filter((header): header is [string, string] => header[1] !== undefined);
      return (await fetch(url, { method: 'POST', headers: given, body: sent.body ?? BODY })).status;
    };

    it('stores a delivery once, however often and with whichever of two secrets it is signed', async () => {
      expect(await post({})).toBe(204);
      await receiver.prints(new RegExp(`^new ${ID}$`, 'm'));
      expect(await post({})).toBe(204);
      expect(await post({ secrets: [SECRET, OTHER] })).toBe(204);
      expect(await post({ secrets: [OTHER, SECRET] })).toBe(204);
      expect(await post({ seconds: now() - 240 })).toBe(204);
      await receiver.prints(new RegExp(`(?:^repeat ${ID}\\n[^]*){4}`, 'm'));
      expect(receiver.output.match(/^new /gm)).toHaveLength(1);
    });

    it('stores one of twenty repeats that come at once', async () => {
      const id = randomUUID();
      const answers = await Promise.all(Array.from({ length: 20 }, () => post({ id })));
      expect(new Set(answers)).toEqual(new Set([204]));
      await until('all are told', () => receiver.output.split(id).length === 21, { seen: () => receiver.output });
      expect(receiver.output.match(new RegExp(`^new ${id}$`, 'gm'))).toHaveLength(1);
    });

    it.each(refused)('answers 401 to one %s, and stores nothing', async (_, sent) => {
      const id = randomUUID();
      expect(await post({ id, ...sent(id) })).toBe(401);
      expect(receiver.output).not.toContain(id);
    });

    it('takes the largest body there is, and answers 413 to a larger one', async () => {
      expect(await post({ id: randomUUID(), body: Buffer.from(JSON.stringify('x'.repeat(256 * 1_024 - 2))) })).toBe(
        204,
      );
      const larger = post({ id: randomUUID(), body: Buffer.alloc(256 * 1_024 + 1, 'x') });
      // Who refuses early may hang up before all of it is sent.
      expect([413, 'hung up']).toContain(await larger.catch(() => 'hung up'));
      const last = randomUUID();
      expect(await post({ id: last })).toBe(204);
      await receiver.prints(new RegExp(`^new ${last}$`, 'm'));
      // The first, one of the twenty, the largest and the last: of all that was refused, nothing.
      expect(receiver.output.match(/^new /gm)).toHaveLength(4);
    });
  },
);
