import { anEnvelope } from '../support/client.js';
import { partner, relay, servers, source, startRelayWithServers } from '../support/shared-relay.js';
import { tally } from '../support/tally.js';
import { until } from '../support/until.js';

/** Twice the bound of 25 s, because this machine may be busy with other suites. */
const STOP_MS = 50_000;

startRelayWithServers({ RETRY_SCHEDULE: '1s,1s,1s' });

beforeAll(async () => {
  for (const [eventType, path] of [
    ['task.created', '/hook'],
    ['plan.created', '/hanging'],
  ] as const)
    await partner.register({ eventType, endPointUrl: relay.receiver.url(path), apiKey: 'k' });
});

describe.each(['redis', 'kafka'] as const)('a frozen %s', (service) => {
  it('keeps no process from stopping within 25 s, beside an endpoint that hangs, and nothing is lost by it', async () => {
    const { receiver, worker, ingress } = relay;
    receiver.plan('/hanging', 'hang');
    await source.post(anEnvelope({ type: 'plan.created' }));
    const sent = new Set<string>();
    for (let n = 0; n < 20; n += 1) {
      const envelope = anEnvelope();
      expect((await source.post(envelope)).status).toBe(202);
      sent.add(envelope.id);
    }
    await until('an attempt hangs', () => receiver.at('/hanging').length > 0);
    const from = worker.log.length;
    servers.freeze(service);
    try {
      const startedAt = performance.now();
      const codes = await Promise.all([worker.stop(), ingress.stop()]);
      expect(codes).toEqual([0, 0]);
      expect(performance.now() - startedAt).toBeLessThan(STOP_MS);
      expect(worker.log.slice(from).length).toBeLessThan(100 * 25);
    } finally {
      servers.thaw(service);
    }
    receiver.plan('/hanging', { status: 204 });
    worker.start();
    ingress.start();
    await Promise.all([worker.ready(), ingress.ready(60_000)]);
    const counts = () => tally(sent, receiver.ids('/hook'));
    await until('everything accepted is delivered', () => counts().lost === 0, { seen: counts });
    expect(counts().lost).toBe(0);
  });
});
