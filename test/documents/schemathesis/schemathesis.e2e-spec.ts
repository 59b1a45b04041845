import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { jest } from '@jest/globals';
import { App } from '../../support/app.js';
import { Relay } from '../../support/relay.js';
import { schemathesis, skipped } from '../languages.js';

// More examples of each operation take more time and nothing else; with a number of them all phases run, else the one that
// is quick: making the others' cases takes a minute of Python for each role.
const WANTED = process.env['SCHEMATHESIS_EXAMPLES'];
const EXAMPLES = WANTED ?? '2';
const PHASES = WANTED === undefined ? 'fuzzing' : 'examples,coverage,fuzzing,stateful';
const SEED = process.env['SCHEMATHESIS_SEED'] ?? '1';

jest.setTimeout(3_600_000);
// Whatever it finds by its seed it finds again; what a machine with other suites on it was too slow for it does not.
jest.retryTimes(1, { logErrorsBeforeRetry: true });

const library = schemathesis();
if (library === undefined) skipped('schemathesis finds nothing wrong: python3 with pip and PyPI are not here');
else
  describe('schemathesis, with every check it has', () => {
    let relay: Relay;
    let operations: App<'operations'>;
    beforeAll(async () => {
      // So many requests that the limits would answer most of them.
      relay = await Relay.start({
        // hooks.py says for whom each is.
        TRUST_PROXY: '1',
        RATE_LIMIT: '10000000',
        SESSION_RATE_LIMIT: '10000000',
        MAX_WEBHOOKS_PER_PARTNER: '1000',
        WEBHOOK_CHANGES: '10000000',
      });
      operations = await App.start('operations', relay.stack.env);
    });
    afterAll(async () => {
      await operations?.stop();
      await relay?.close();
    });

    const byBasic = async (): Promise<string> => {
      const made = await relay.stack.client('operator', 'fuzz', '--role', 'admin');
      const { clientId, clientSecret } = made as { clientId: string; clientSecret: string };
      return `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}`;
    };

    const logins: [string, () => Promise<string | undefined>][] = [
      ['a partner', async () => `Bearer ${await (await relay.partner()).token()}`],
      ['a source', async () => `Bearer ${await (await relay.source()).token()}`],
      ['nobody', async () => undefined],
      ['an operator', byBasic],
    ];
    it.each(logins)('finds nothing wrong as %s', async (who, login) => {
      const folder = mkdtempSync(join(tmpdir(), 'relay-schemathesis-'));
      const { url } = who === 'an operator' ? operations : relay.ingress;
      const authorization = await login();
      const header = authorization === undefined ? [] : ['--header', `Authorization: ${authorization}`];
      const config = ['--config-file', join(import.meta.dirname, 'schemathesis.toml')];
      const args = [...config, 'run', `${url}/openapi.json`, '--url', url, '--checks', 'all', '--phases', PHASES];
      const size = ['--max-examples', EXAMPLES, '--seed', SEED, '--workers', '1', '--request-timeout', '20'];
      const program = spawn('python3', ['-m', 'schemathesis.cli', ...args, ...size, ...header], {
        cwd: folder,
        env: {
          ...process.env,
          PYTHONPATH: `${library}:${import.meta.dirname}`,
          SCHEMATHESIS_HOOKS: 'hooks',
          NO_COLOR: '1',
        },
      });
      let output = '';
      for (const stream of [program.stdout, program.stderr])
        stream.setEncoding('utf8').on('data', (text: string) => (output += text));
      const [code] = (await once(program, 'close')) as [number | null];
      rmSync(folder, { recursive: true, force: true });
      const generated = Number(/(\d+) generated/.exec(output)?.[1]);
      expect([code, code === 0 ? '' : output]).toEqual([0, '']);
      expect(generated).toBeGreaterThan(30);
      process.stdout.write(`schemathesis as ${who}: ${generated} cases\n`);
    });
  });
