import { execFile } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { SpanCollector } from '@relay/testing';
import { App } from '../support/app.js';
import { anEnvelope } from '../support/client.js';
import { deadLettersIn } from '../support/dead-letters.js';
import { imageFolder } from '../support/image-folder.js';
import { Operator } from '../support/operator.js';
import { Relay } from '../support/relay.js';
import { until } from '../support/until.js';

// Other specs run the modules as they were compiled; in the image they are in few files, with the packages.
const folder = imageFolder();
let relay: Relay;
let collector: SpanCollector;
beforeAll(async () => {
  process.env['RELAY_DIST'] = join(folder, 'dist');
  collector = await SpanCollector.open();
  relay = await Relay.start({ RETRY_SCHEDULE: '300ms', OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
});
afterAll(async () => {
  await relay?.close();
  await collector?.close();
  rmSync(folder, { recursive: true });
});

describe('the program that helm test runs', () => {
  const smokeTest = (endpoint: string) => {
    const env = { ...relay.stack.env, SMOKE_TEST_RELAY: relay.ingress.url, SMOKE_TEST_ENDPOINT: endpoint };
    return promisify(execFile)(process.execPath, [join(folder, 'role.mjs'), 'smoke-test'], { env });
  };

  it('sends one envelope and sees it delivered to the relay itself, which publishes nothing again', async () => {
    const { stdout, stderr } = await smokeTest(`${relay.ingress.url}/deliveries`);
    expect(stdout).toMatch(/^accepted: .*\ndelivered\n$/);
    expect(stderr).toBe('');
    const clients = (await relay.stack.relay('partners', 'list')) as { name: string; disabled: boolean }[];
    expect(clients.filter(({ name }) => name === 'smoke-test')).toEqual([expect.objectContaining({ disabled: true })]);
  });

  it('names an endpoint without a dot by its address, as a Service of development is: the relay refuses such names', async () => {
    const { stdout } = await smokeTest(`http://localhost:${new URL(relay.ingress.url).port}/deliveries`);
    expect(stdout).toMatch(/on its way to http:\/\/127\.0\.0\.1:\d+\/deliveries\ndelivered\n$/);
  });

  it('delivers to an endpoint of one’s own', async () => {
    const { stdout } = await smokeTest(relay.receiver.url('/smoke'));
    expect(stdout).toContain('delivered');
  });
});

it("the program of the chart's Job applies event types as an operator of its own, and says what is wrong with them", async () => {
  const file = join(folder, 'event-types.yaml');
  const operations = await App.launch('operations', relay.stack.env);
  const run = (text: string, ...options: string[]) => {
    writeFileSync(file, text);
    const env = { ...relay.stack.env, OPERATIONS_URL: operations.url };
    return promisify(execFile)(
      process.execPath,
      [join(folder, 'role.mjs'), 'event-types', '--file', file, ...options],
      {
        env,
      },
    );
  };
  try {
    // The Job does not wait until operations is ready.
    const { stdout, stderr } = await run('{"eventTypes":{"order.paid":{"description":"An order was paid."}}}');
    expect([stdout, stderr]).toEqual(['created order.paid\n', '']);
    expect(await run('eventTypes: {}\n', '--prune')).toMatchObject({ stdout: 'archived order.paid\n' });
    await expect(run('eventTypes:\n  relay.own: {}\n')).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`${file}:2:3 relay.own:`),
    });
    const clients = (await relay.stack.relay('operators', 'list')) as { name: string; disabled: boolean }[];
    const made = clients.filter(({ name }) => name === 'helm');
    expect(made.map(({ disabled }) => disabled)).toEqual([true]);
  } finally {
    await operations.stop();
  }
});

it('the roles load what they need late: the queue, dead letters, the search’s thread, the board, the pages, the exporter of spans', async () => {
  const operations = await App.start('operations', {
    ...relay.stack.env,
    SEARCH_INDEX: join(folder, 'index.sqlite'),
  });
  try {
    const [partner, source] = await Promise.all([relay.partner(), relay.source()]);
    const register = (eventType: string, path: string) =>
      partner.register({ eventType, endPointUrl: relay.receiver.url(path), apiKey: 'key' });
    relay.receiver.plan('/again', { status: 500 }, { status: 204 });
    relay.receiver.plan('/never', { status: 500 });
    await register('task.created', '/again');
    await register('plan.created', '/never');
    const [again, never] = [anEnvelope(), anEnvelope({ type: 'plan.created' })];
    for (const envelope of [again, never]) expect((await source.post(envelope)).status).toBe(202);
    await until('it is retried', () => relay.receiver.delivered('/again').includes(again.id));

    const dead = () => deadLettersIn(relay.stack.shards);
    const [letter] = await until('one is given up', async () => (await dead()).length === 1 && dead());
    expect(JSON.stringify(letter)).toContain(never.id);

    const operator = await Operator.of(relay.stack, operations);
    const found = async () =>
      (await operator.get<{ attempts: { envelopeId: string }[] }>('/attempts?outcome=dead-letter')).json.attempts;
    await until('the attempt is found', async () => (await found()).some(({ envelopeId }) => envelopeId === never.id));
    for (const [path, text] of [
      ['/board/', '__UI_CONFIG__'],
      ['/', '<title>Console'],
    ] as const)
      expect(await operator.get(path)).toMatchObject({ status: 200, text: expect.stringContaining(text) });
    expect(await (await fetch(`${relay.ingress.url}/portal`)).text()).toContain('<title>Webhooks');
    await until('spans are exported', () => collector.spans.length > 0);
  } finally {
    await operations.stop();
  }
});
