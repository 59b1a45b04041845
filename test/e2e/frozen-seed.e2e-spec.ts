import { anEnvelope } from '../support/client.js';
import { KafkaProxy } from '../support/kafka-proxy.js';
import { Relay } from '../support/relay.js';
import { givenSettings } from '../support/stack.js';
import { until } from '../support/until.js';

let relay: Relay;
let proxy: KafkaProxy;
beforeAll(async () => {
  const broker = givenSettings()['KAFKA_BROKERS'] ?? '';
  const [host = '', port = ''] = broker.split(':');
  proxy = new KafkaProxy({ host, port: Number(port) });
  await proxy.open();
  // Who begins there learns the broker's own address, so only the beginning leads through the proxy.
  relay = await Relay.start({ KAFKA_BROKERS: `127.0.0.1:${proxy.port},${broker}` });
});
afterAll(async () => {
  proxy?.freeze(false);
  await relay?.close();
  await proxy?.close();
});

describe('a broker that is frozen and the first of KAFKA_BROKERS', () => {
  it('makes no process refuse anything nor say that Kafka is away, while another one answers', async () => {
    const { ingress, worker, receiver } = relay;
    const [partner, source] = await Promise.all([relay.partner(), relay.source()]);
    await partner.register({ eventType: 'task.created', endPointUrl: receiver.url('/hook'), apiKey: 'key' });
    const sent: string[] = [];
    const post = async (): Promise<void> => {
      const envelope = anEnvelope();
      expect((await source.post(envelope)).status).toBe(202);
      sent.push(envelope.id);
    };
    await post(); // a topic that is new is looked for on a connection of its own, which may meet the frozen one first
    proxy.freeze(true);
    const hasMet = ({ log }: { log: readonly string[] }): boolean =>
      log.some((line) => /no answer in \d+ ms/.test(line));
    await until('both have met it and gone on', async () => {
      await post();
      for (const app of [ingress, worker])
        expect([app.role, await app.health()]).toEqual([app.role, expect.objectContaining({ status: 'ok' })]);
      return hasMet(ingress) && hasMet(worker);
    });
    await post();
    await until('all are delivered', () => {
      const delivered = receiver.delivered('/hook');
      return sent.every((id) => delivered.includes(id));
    });
  });

  it('keeps no process from starting', async () => {
    const { ingress, worker } = relay;
    await Promise.all([ingress.stop(), worker.stop()]);
    proxy.freeze(true);
    ingress.start();
    worker.start();
    await Promise.all([ingress.ready(60_000), worker.ready(60_000)]);
  });
});
