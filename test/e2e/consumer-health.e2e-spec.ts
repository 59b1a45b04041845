import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { anEnvelope } from '../support/client.js';
import { FETCH, HEARTBEAT, KafkaProxy } from '../support/kafka-proxy.js';
import { Relay } from '../support/relay.js';
import { givenSettings } from '../support/stack.js';
import { until } from '../support/until.js';

const redirect = pathToFileURL(join(import.meta.dirname, '..', 'faults', 'redirect.mjs')).href;

/** A relay whose worker reaches Kafka through a proxy, and what the proxy keeps from it. */
interface Silenced {
  readonly what: string;
  readonly apiKeys: readonly number[];
  readonly proxy: KafkaProxy;
  readonly relay: Relay;
}

async function silenced([what, ...apiKeys]: readonly [string, ...number[]]): Promise<Silenced> {
  const [host = '', port = ''] = (givenSettings()['KAFKA_BROKERS'] ?? '').split(':');
  const proxy = new KafkaProxy({ host, port: Number(port) });
  await proxy.open();
  const through = { nodeOptions: ['--import', redirect], env: { REDIRECT: `${port}:${proxy.port}` } };
  return { what, apiKeys, proxy, relay: await Relay.start({}, undefined, through) };
}

/** Each waits half a minute for an answer, so they do it at the same time. */
let all: readonly Silenced[] = [];
beforeAll(async () => {
  all = await Promise.all(
    (
      [
        ['heartbeats', HEARTBEAT],
        ['fetches', FETCH],
        ['fetches and heartbeats', FETCH, HEARTBEAT],
      ] as const
    ).map(silenced),
  );
});
afterAll(() =>
  Promise.all(
    all.map(async ({ relay, proxy }) => {
      proxy.leaveUnanswered();
      await relay.close();
      await proxy.close();
    }),
  ),
);

describe('/health/ready of a worker', () => {
  it('tells within 30 s that its consumer gets no answer to its heartbeats, its fetches, or both, and that it goes on', async () => {
    const toldAndWell = async ({ what, apiKeys, proxy, relay }: Silenced): Promise<void> => {
      const [partner, source] = await Promise.all([relay.partner(), relay.source()]);
      await partner.register({ eventType: 'task.created', endPointUrl: relay.receiver.url('/hook'), apiKey: 'key' });

      proxy.leaveUnanswered(...apiKeys);
      const health = () => relay.worker.health();
      const tells = async () => {
        const { status, faults } = (await health()) ?? { status: 'silent', faults: {} };
        return status === 'unavailable' && ('log' in faults || 'consumer' in faults);
      };
      await until(`the worker without ${what} is not ready for its consumer`, tells, {
        withinMs: 30_000,
        seen: health,
      });
      expect((await relay.ingress.health())?.status).toBe('ok');
      const envelope = anEnvelope();
      expect((await source.post(envelope)).status).toBe(202);

      proxy.leaveUnanswered();
      const isWell = async () => (await health())?.status === 'ok';
      await until(`the worker without ${what} is ready again`, isWell, { withinMs: 60_000, seen: health });
      await until(
        `what came while there were no ${what} is delivered`,
        () => relay.receiver.delivered('/hook').includes(envelope.id),
        { withinMs: 30_000 },
      );
    };
    await Promise.all(all.map(toldAndWell));
  });
});
