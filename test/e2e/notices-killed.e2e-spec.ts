import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parkedWebhooks } from '@relay/progress';
import type { App } from '../support/app.js';
import { anEnvelope, type Client } from '../support/client.js';
import { NoticeAddresses } from '../support/notice-addresses.js';
import { Receiver } from '../support/receiver.js';
import { Relay } from '../support/relay.js';
import { until } from '../support/until.js';

const DAY_MS = 86_400_000;
const KILL_POINT = pathToFileURL(join(import.meta.dirname, '..', 'faults', 'kill-point.mjs')).href;
const folder = mkdtempSync(join(tmpdir(), 'relay-notices-'));

let relay: Relay;
let partner: Client;
let source: Client;
let endpoint: Receiver;
let addresses: NoticeAddresses;
beforeAll(async () => {
  const start = (role: string) => ({
    nodeOptions: [`--import=${KILL_POINT}`],
    env: { KILL_POINT_FILE: join(folder, role) },
  });
  const settings = { RETRY_SCHEDULE: '1s,1s,1s,1s,1s,1s,1s,1s,1s', WEBHOOK_QUEUE_LIMIT: '20' };
  relay = await Relay.start(settings, undefined, start('worker'), start('ingress'));
  endpoint = await Receiver.open();
  [partner, source] = await Promise.all([relay.partner(), relay.source()]);
  addresses = await NoticeAddresses.register(partner, relay.receiver);
});
afterAll(async () => {
  await endpoint.close();
  await relay.close();
  rmSync(folder, { recursive: true });
});

/** An endpoint of its own origin: it shares nothing with those of other tests. */
async function register(eventType: string, path: string, status: number): Promise<string> {
  endpoint.plan(path, { status });
  const endPointUrl = (await endpoint.anotherOrigin())(path);
  return partner.register({ eventType, endPointUrl, apiKey: 'key' });
}
const post = async (type: string): Promise<void> =>
  expect((await source.post(anEnvelope({ type }))).status).toBe(202) as undefined;

/** What Kafka has of notices about a webhook. */
const records = async (id: string): Promise<{ id: string; type: string }[]> =>
  (await relay.stack.topic('relay.notices').read())
    .map(({ value }) => JSON.parse(value.toString()) as { id: string; type: string; payload: { id: string } })
    .filter(({ payload }) => payload.id === id);

/** Kills a process with SIGKILL right before or after it sends its next notice to Kafka, which `work` causes. */
async function killedAt(
  point: 'before-notice' | 'after-notice',
  app: App,
  work: () => Promise<unknown>,
): Promise<void> {
  const file = join(folder, app.role);
  for (const end of ['armed', 'reached']) rmSync(`${file}.${end}`, { force: true });
  writeFileSync(file, `${point} 1`);
  process.kill(app.pid, 'SIGUSR2');
  await until('it is armed', () => existsSync(`${file}.armed`));
  await until(
    `the ${app.role} is killed`,
    async () => {
      if (app.isRunning) await work();
      return !app.isRunning;
    },
    { seen: () => app.log.slice(-5) },
  );
  expect(readFileSync(`${file}.reached`, 'utf8')).toContain(point);
}
/** Work that is done once, however often it is asked for. */
function once(work: () => Promise<unknown>): () => Promise<unknown> {
  let done: Promise<unknown> | undefined;
  return () => (done ??= work().catch(() => 'the process was killed'));
}

async function restart(app: App): Promise<void> {
  app.start();
  await app.ready();
}

describe('a notice is told although the process was killed between the change and the notice', () => {
  it('when a worker has disabled a webhook whose endpoint answers 410', async () => {
    const id = await register('task.created', '/gone', 410);
    await killedAt(
      'before-notice',
      relay.worker,
      once(() => post('task.created')),
    );
    expect((await partner.request('GET', `/webhooks/${id}`)).json).toMatchObject({ disabledReason: 'gone' });
    expect(await records(id)).toEqual([]);
    await restart(relay.worker);
    expect(await addresses.arrived('webhook.disabled', id)).toMatchObject({ reason: 'gone' });
  });

  it('when its partner has disabled or enabled a webhook or rotated its secret, by another process', async () => {
    const id = await register('task.updated', '/partners', 204);
    const facts = {
      disable: ['webhook.disabled', { reason: 'partner' }],
      enable: ['webhook.enabled', { disabledReason: 'partner' }],
      'secret/rotate': ['secret.rotated', { oldSecretUntil: expect.stringMatching(/Z$/) }],
    } as const;
    const since = Date.now();
    await relay.worker.kill();
    for (const change of Object.keys(facts)) {
      const changed = once(() => partner.request('POST', `/webhooks/${id}/${change}`));
      await killedAt('before-notice', relay.ingress, changed);
      await restart(relay.ingress);
    }
    const by = Date.now();
    expect(await records(id)).toEqual([]);
    await restart(relay.worker);
    for (const [type, fact] of Object.values(facts)) {
      const payload = await addresses.arrived(type, id);
      expect(payload).toMatchObject(fact);
      // The time of the change and not of the telling.
      expect(Date.parse(String(payload['at']))).toBeGreaterThanOrEqual(since);
      expect(Date.parse(String(payload['at']))).toBeLessThanOrEqual(by);
    }
  });

  it('when a worker has parked a webhook', async () => {
    const id = await register('message.created', '/away', 500);
    await killedAt('before-notice', relay.worker, () =>
      Promise.all(Array.from({ length: 5 }, () => post('message.created'))),
    );
    expect([...(await parkedWebhooks(relay.stack.shards))]).toContain(id);
    expect(await records(id)).toEqual([]);
    await restart(relay.worker);
    expect(Number((await addresses.arrived('webhook.parked', id))['waiting'])).toBeGreaterThanOrEqual(20);
  });

  it('when a worker has noted that a webhook does nothing but fail', async () => {
    const id = await register('tax_return.filed', '/fails', 500);
    await post('tax_return.filed');
    const { redis } = relay.stack;
    await until('its failures are counted', async () => (await redis.hexists('{relay:0}:failing', id)) === 1);
    const [, version = ''] = (await redis.hget('{relay:0}:failing', id))?.split(' ') ?? [];
    const failsSince = once(() => redis.hset('{relay:0}:failing', id, `${Date.now() - 3 * DAY_MS} ${version}`));
    await killedAt('before-notice', relay.worker, failsSince);
    expect(await records(id)).toEqual([]);
    await restart(relay.worker);
    expect(await addresses.arrived('webhook.failing', id)).toMatchObject({ percent: 50 });
  });
});

it('a notice that is told twice, because the process was killed right after the first time, arrives once', async () => {
  const id = await register('plan.created', '/gone-too', 410);
  await killedAt(
    'after-notice',
    relay.worker,
    once(() => post('plan.created')),
  );
  await restart(relay.worker);
  await until('it is told again', async () => (await records(id)).length === 2);
  expect(new Set((await records(id)).map((record) => record.id)).size).toBe(1);
  // In the same partition behind it.
  await partner.request('POST', `/webhooks/${id}/secret/rotate`);
  await addresses.arrived('secret.rotated', id);
  expect(addresses.got('webhook.disabled', id)).toHaveLength(1);
});
