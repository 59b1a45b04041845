import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mainOf } from '../support/app.js';
import { anEnvelope } from '../support/client.js';
import { CommandLine } from '../support/command-line.js';
import { Relay } from '../support/relay.js';
import type { Settings } from '../support/stack.js';
import { until } from '../support/until.js';

let relay: Relay;
let env: Settings;
let cli: CommandLine;
beforeAll(async () => {
  relay = await Relay.start();
  env = { ...(await relay.stack.commandEnv()), PUBLIC_URL: relay.ingress.url };
  cli = new CommandLine(env);
});
afterAll(() => relay.close());

describe('relay', () => {
  it('ends with 1 when its answer cannot be written', async () => {
    const child = spawn(
      'sh',
      ['-c', '"$@" > /dev/full', 'sh', process.execPath, mainOf('cli'), 'partners', 'create', 'x'],
      {
        env,
        stdio: 'pipe',
      },
    );
    let err = '';
    child.stderr.on('data', (text: Buffer) => (err += text.toString()));
    const [code] = (await once(child, 'close')) as [number | null];
    expect([code, err]).toEqual([1, expect.stringContaining('standard output failed, so the answer is lost: ENOSPC')]);
  });

  it('says how many envelopes were accepted until it was interrupted', async () => {
    const { clientId, clientSecret } = await cli.json<Record<'clientId' | 'clientSecret', string>>([
      'sources',
      'create',
      'interrupted',
    ]);
    const credentials = { RELAY_CLIENT_ID: clientId, RELAY_CLIENT_SECRET: clientSecret };
    const args = ['send', 'task.created', '--count', '200000', '--url', relay.ingress.url, '--json'];
    const child = spawn(process.execPath, [mainOf('cli'), ...args], {
      env: { ...env, ...credentials },
      stdio: 'pipe',
    });
    let [out, err] = ['', ''];
    child.stdout.on('data', (text: Buffer) => (out += text.toString()));
    child.stderr.on('data', (text: Buffer) => (err += text.toString()));
    const accepted = async (): Promise<boolean> =>
      /^relay_ingress_events_total\{event_type="task.created",result="accepted"\} [1-9]/m.test(
        await relay.ingress.metrics(),
      );
    await until('some are accepted', accepted);
    child.kill('SIGINT');
    const [code] = (await once(child, 'close')) as [number | null];
    const { ids } = JSON.parse(out) as { ids: string[] };
    expect([code, err]).toEqual([1, `interrupted: ${ids.length} of 200000 were sent\n`]);
    expect(ids.length).toBeGreaterThan(0);
  });

  it('escapes what an endpoint answers', async () => {
    const [partner, source] = [await relay.partner(), await relay.source()];
    const headers = { 'content-type': 'text/plain; charset=utf-8' };
    relay.receiver.plan('/hostile', { status: 500, headers, body: 'a\u202eb' });
    const endPointUrl = relay.receiver.url('/hostile');
    await partner.register({ eventType: 'message.created', endPointUrl, apiKey: 'key' });
    const envelope = anEnvelope({ type: 'message.created' });
    await source.post(envelope);
    const shown = await until('its attempt is shown', async () => {
      const { out } = await cli.run(['deliveries', 'get', envelope.id]);
      return out.includes('answered 500') && out;
    });
    expect(shown).toContain('a\\u202eb');
  });
});
