import { parseArgs } from 'node:util';
import { readArguments } from './arguments.js';

const ENV = { RELAY_URL: 'https://relay.example', RELAY_CLIENT_ID: 'partner_1', RELAY_CLIENT_SECRET: 'relay_sk_1' };
const read = (args: string[], env = ENV as Record<string, string>) =>
  readArguments((options) => parseArgs({ args, allowPositionals: true, options }), env);

describe('readArguments', () => {
  it('reads a whole line, and the environment if the line says nothing', () => {
    const settings = { url: 'https://relay.example', clientId: 'partner_1', clientSecret: 'relay_sk_1' };
    expect(read(['listen'])).toEqual({ settings, types: [], forwardTo: undefined, json: false });
    const all = [
      'listen',
      '--url',
      'http://a',
      '--type',
      'task.created, plan.created',
      '--type',
      'task.created',
      '--json',
    ];
    expect(read([...all, '--forward-to', 'http://127.0.0.1:1/x'])).toEqual({
      settings: { ...settings, url: 'http://a' },
      types: ['task.created', 'plan.created'],
      forwardTo: new URL('http://127.0.0.1:1/x'),
      json: true,
    });
    expect(read(['types'], { RELAY_URL: 'http://a' })).toEqual({ url: 'http://a', out: undefined });
    expect(read(['types', '--out', 'events.ts'])).toEqual({ url: 'https://relay.example', out: 'events.ts' });
    expect(read(['--help'])).toEqual({ help: true });
  });

  it.each([
    [[], ENV, 'the command is `listen` or `types`'],
    [['constructor'], ENV, 'the command is `listen` or `types`'],
    [['types', '--json'], ENV, '--json is no option of types'],
    [['listen', '--out', 'events.ts'], ENV, '--out is no option of listen'],
    [['types', '--out', ''], ENV, '--out: a file is missing'],
    [['listen', '--port', '1'], ENV, '--port'],
    [['listen'], { ...ENV, RELAY_URL: 'relay.example' }, '--url: relay.example is no http or https address'],
    [['listen'], {}, 'give --url or RELAY_URL'],
    [['listen', '--url', 'http://a'], {}, 'set RELAY_CLIENT_ID and RELAY_CLIENT_SECRET'],
    [['listen', '--forward-to', 'file:///a'], ENV, '--forward-to: file:///a is no http'],
    [['listen', '--type', 'task.created,'], ENV, '--type: an event type is missing'],
  ])('names what is wrong in %j', (args, env, fault) => {
    expect(read(args, env)).toEqual({ fault: expect.stringContaining(fault) });
  });
});
