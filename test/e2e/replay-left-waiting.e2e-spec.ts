import { mainOf } from '../support/app.js';
import type { Client } from '../support/client.js';
import { CommandLine } from '../support/command-line.js';
import { postMany } from '../support/post-many.js';
import { Receiver } from '../support/receiver.js';
import { Relay } from '../support/relay.js';
import type { Settings } from '../support/stack.js';
import { Program } from '../support/terminal.js';
import { until } from '../support/until.js';

const type = 'plan.created';
const args = ['replay', '--type', type];

let relay: Relay;
let endpoint: Receiver;
let partner: Client;
let env: Settings;
let cli: CommandLine;
let webhookId: string;
beforeAll(async () => {
  [relay, endpoint] = await Promise.all([Relay.start(), Receiver.open()]);
  [partner, env] = [await relay.partner(), await relay.stack.commandEnv()];
  cli = new CommandLine(env);
  webhookId = await partner.register({ eventType: type, endPointUrl: endpoint.url('/hook'), apiKey: 'key' });
  await postMany(await relay.source(), 1_000, type);
  await until('all of it is delivered', () => endpoint.at('/hook').length >= 1_000);
});
afterAll(async () => {
  await endpoint.close();
  await relay.close();
});

/** A call that delivers again, so slowly that it cannot end meanwhile. */
async function begun(): Promise<Program> {
  // Slower than half of what may wait in the queue for it.
  endpoint.plan('/hook', { status: 204, delayMs: 1_000 });
  const call = new Program(process.execPath, [mainOf('cli'), ...args], env);
  await call.prints(/delivering again/);
  const from = endpoint.at('/hook').length;
  await until('some of it is delivered again', () => endpoint.at('/hook').length > from, { withinMs: 60_000 });
  return call;
}

describe('a call of relay replay ends, and says why, when', () => {
  it('another call held its replay up', async () => {
    const first = await begun();
    const second = new Program(process.execPath, [mainOf('cli'), ...args], env);
    await second.prints(/continuing /);
    await second.prints(/delivering again/);
    expect(await second.end('SIGINT')).toBe(1);
    expect(await first.ended()).toBe(1);
    expect(first.output).toMatch(/1 replay paused: the same command continues/);
    const records = await relay.stack.topic('relay.operations').read();
    const told = records.map(({ value }) => JSON.parse(String(value)) as { event: string; operator?: string });
    const ours = told.filter(
      ({ operator, event }) => operator === env['OPERATOR_CLIENT_ID'] && event.startsWith('replay.'),
    );
    expect(ours.map(({ event }) => event)).toEqual(['replay.ordered', 'replay.paused']);
    expect(await cli.json([...args, '--cancel'])).toEqual({ cancelled: 1 });
  });

  it('Redis lost its replay', async () => {
    const call = await begun();
    const [id = ''] = await relay.stack.redis.hvals('{relay:0}:replays');
    await relay.stack.redis.del(`{relay:0}:replay:${id}`);
    expect(await call.ended()).toBe(1);
    expect(call.output).toMatch(/^1 replay lost: Redis knows nothing/m);
  });

  it('its webhook is disabled, and the next call leaves that webhook out', async () => {
    const call = await begun();
    endpoint.plan('/hook', { status: 410 });
    expect(await call.ended()).toBe(1);
    expect(call.output).toMatch(/1 replay waiting until the webhook is enabled: --cancel ends it/);
    const next = await cli.run(args);
    expect(next).toMatchObject({ code: 1, out: expect.stringContaining('0 replays') });
    expect(next.err).toContain(`left out: webhook ${webhookId} is disabled and gets nothing; once it is enabled`);
    expect(await cli.json([...args, '--cancel'])).toEqual({ cancelled: 1 });
  });
});
