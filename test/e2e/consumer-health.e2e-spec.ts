import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { anEnvelope } from '../support/client.js';
import { FETCH, HEARTBEAT, KafkaProxy } from '../support/kafka-proxy.js';
import { Relay } from '../support/relay.js';
import { givenSettings } from '../support/stack.js';
import { until } from '../support/until.js';

const redirect = pathToFileURL(join(import.meta.dirname, '..', 'faults', 'redirect.mjs')).href;

let relay: Relay;
let proxy: KafkaProxy;
beforeAll(async () => {
  const [host = '', port = ''] = (givenSettings()['KAFKA_BROKERS'] ?? '').split(':');
  proxy = new KafkaProxy({ host, port: Number(port) });
  await proxy.open();
  const through = { nodeOptions: ['--import', redirect], env: { REDIRECT: `${port}:${proxy.port}` } };
  relay = await Relay.start({}, undefined, through);
});
afterAll(async () => {
  proxy?.leaveUnanswered();
  await relay?.close();
  await proxy?.close();
});

describe('/health/ready of a worker', () => {
  it.each([
    ['heartbeats', [HEARTBEAT]],
    ['fetches', [FETCH]],
    ['fetches and heartbeats', [FETCH, HEARTBEAT]],
  ])('tells within 30 s that its consumer gets no answer to its %s, and that it goes on', async (what, apiKeys) => {
    const path = `/${what.replaceAll(' ', '-')}`;
    const [partner, source] = await Promise.all([relay.partner(), relay.source()]);
    await partner.register({ eventType: 'task.created', endPointUrl: relay.receiver.url(path), apiKey: 'key' });

    proxy.leaveUnanswered(...apiKeys);
    const health = () => relay.worker.health();
    const tells = async () => {
      const { status, faults } = (await health()) ?? { status: 'silent', faults: {} };
      return status === 'unavailable' && ('log' in faults || 'consumer' in faults);
    };
    await until('the worker is not ready for its consumer', tells, { withinMs: 30_000, seen: health });
    expect((await relay.ingress.health())?.status).toBe('ok');
    const envelope = anEnvelope();
    expect((await source.post(envelope)).status).toBe(202);

    proxy.leaveUnanswered();
    await until('the worker is ready again', async () => (await health())?.status === 'ok', {
      withinMs: 60_000,
      seen: health,
    });
    await until('what came meanwhile is delivered', () => relay.receiver.delivered(path).includes(envelope.id), {
      withinMs: 30_000,
    });
  });
});
