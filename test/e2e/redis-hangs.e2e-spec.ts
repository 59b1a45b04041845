import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { anEnvelope } from '../support/client.js';
import { RedisProxy } from '../support/redis-proxy.js';
import { Relay } from '../support/relay.js';
import { givenSettings } from '../support/stack.js';
import { until } from '../support/until.js';

const redirect = pathToFileURL(join(import.meta.dirname, '..', 'faults', 'redirect.mjs')).href;

let relay: Relay;
let proxy: RedisProxy;
beforeAll(async () => {
  const { port } = new URL(givenSettings()['REDIS_URL'] ?? '');
  proxy = new RedisProxy(Number(port));
  await proxy.open();
  const through = { nodeOptions: ['--import', redirect], env: { REDIRECT: `${port}:${proxy.port}` } };
  relay = await Relay.start({ RETRY_SCHEDULE: '5s,5s' }, undefined, through);
});
afterAll(async () => {
  await relay?.close();
  await proxy?.close();
});

// As when the machine of the primary loses its power and another Redis takes over.
it('a worker whose connections to Redis hang takes new ones: retries and new envelopes are delivered, and it is ready', async () => {
  const { receiver, worker } = relay;
  const [partner, source] = await Promise.all([relay.partner(), relay.source()]);
  await partner.register({ eventType: 'task.created', endPointUrl: receiver.url('/hook'), apiKey: 'key' });
  receiver.plan('/hook', { status: 500 }, { status: 204 });
  const retried = anEnvelope();
  expect((await source.post(retried)).status).toBe(202);
  await until('its first attempt has failed', () => receiver.at('/hook').length === 1);
  proxy.hang();
  const fresh = anEnvelope();
  expect((await source.post(fresh)).status).toBe(202);
  await until(
    'both are delivered',
    () => {
      const delivered = receiver.delivered('/hook');
      return [retried, fresh].every(({ id }) => delivered.includes(id));
    },
    { withinMs: 60_000, seen: async () => ({ health: await worker.health(), log: worker.log.slice(-10) }) },
  );
  await until('the worker is ready', async () => (await worker.health())?.status === 'ok', { withinMs: 30_000 });
});
