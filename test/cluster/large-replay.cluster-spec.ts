import { jest } from '@jest/globals';
import { mainOf } from '../support/app.js';
import type { Json } from '../support/client.js';
import { postMany } from '../support/post-many.js';
import { Relay } from '../support/relay.js';
import type { Settings } from '../support/stack.js';
import { print, tally } from '../support/tally.js';
import { Program } from '../support/terminal.js';
import { until } from '../support/until.js';

jest.setTimeout(600_000);

const TYPE = 'plan.updated';
const COUNT = 20_000;

let relay: Relay;
let env: Settings;
beforeAll(async () => {
  relay = await Relay.start();
  env = await relay.stack.commandEnv();
});
afterAll(() => relay?.close());

/** All replays that there are, as operators are told of them. */
async function replays(): Promise<Json[]> {
  const basic = Buffer.from(`${env['OPERATOR_CLIENT_ID']}:${env['OPERATOR_CLIENT_SECRET']}`).toString('base64');
  const answer = await fetch(`${env['OPERATIONS_URL']}/replays`, { headers: { authorization: `Basic ${basic}` } });
  return ((await answer.json()) as { replays: Json[] }).replays;
}

/** Deliveries of replays that have ended, as the metrics have them. */
async function told(): Promise<number> {
  const lines = (await relay.worker.metrics()).matchAll(
    /^relay_replay_deliveries\{result="(?:done|failed)"\} (\d+)$/gm,
  );
  return [...lines].reduce((sum, [, count]) => sum + Number(count), 0);
}

it(`a replay of ${COUNT} envelopes, with the worker killed halfway, is counted alike by command line, API and metrics`, async () => {
  const [partner, source] = await Promise.all([relay.partner(), relay.source()]);
  await partner.register({ eventType: TYPE, endPointUrl: relay.receiver.url('/hook'), apiKey: 'key' });
  const sent = await postMany(source, COUNT, TYPE);
  const received = () => relay.receiver.at('/hook').length;
  await until('all of it is delivered', () => received() === COUNT, { withinMs: 120_000, seen: received });

  // 64 at once: the replay takes some 12 s. Killed between two passes of 5,000, it would have nothing in flight to send twice.
  relay.receiver.plan('/hook', { status: 204, delayMs: 40 });
  const args = ['replay', '--type', TYPE, '--json'];
  const command = new Program(process.execPath, [mainOf('cli'), ...args], env);
  await until('half of it is delivered again', () => received() >= 1.55 * COUNT, { withinMs: 120_000, seen: received });
  await relay.worker.kill();
  expect(received()).toBeLessThan(1.9 * COUNT);
  expect(await replays()).toMatchObject([{ state: 'running' }]);
  relay.worker.start();
  await until('the command ends', () => command.output.includes('"matched"'), {
    withinMs: 180_000,
    seen: () => command.output,
  });
  await command.end();

  const report = JSON.parse(/^\{.*\}$/m.exec(command.output)?.[0] ?? '{}') as Json;
  const whole = (counts: Json): number[] => [
    Number(counts['matched']),
    Number(counts['done']) + Number(counts['failed']),
  ];
  expect(whole(report)).toEqual([COUNT, COUNT]);
  expect((await replays()).map(whole)).toEqual([[COUNT, COUNT]]);
  await until('the metrics say the same', async () => (await told()) === COUNT, { withinMs: 60_000, seen: told });
  const counts = () =>
    tally(
      new Set(sent.keys()),
      relay.receiver
        .at('/hook')
        .slice(COUNT)
        .map(({ headers }) => String(headers['webhook-id'])),
    );
  await until('all of it was delivered again', () => counts().lost === 0, { withinMs: 60_000, seen: counts });
  print(`replay of ${COUNT} with the worker killed halfway`, { ...counts() });
  expect(counts().duplicates).toBeGreaterThan(0); // of what ran when it was killed
  // What ran, and what was answered beyond the cursor of the last flush.
  expect(counts().duplicates).toBeLessThanOrEqual(1_024);
});
