import { App } from '../support/app.js';
import { anEnvelope } from '../support/client.js';
import { Relay } from '../support/relay.js';
import { until } from '../support/until.js';

let relay: Relay;
beforeAll(async () => {
  relay = await Relay.start();
});
afterAll(() => relay.close());

describe('a process that is told to stop', () => {
  it('lets running attempts end, exits with 0, and leaves nothing to its successor', async () => {
    const { ingress, worker, receiver } = relay;
    const [partner, source] = [await relay.partner(), await relay.source()];
    receiver.plan('/slow', { status: 200, delayMs: 1_000 });
    await partner.register({ eventType: 'plan.created', endPointUrl: receiver.url('/slow'), apiKey: 'key' });
    const first = anEnvelope({ type: 'plan.created' });
    await source.post(first);
    await until('the attempt runs', () => receiver.at('/slow').length === 1);
    expect(await Promise.all([worker.stop(), ingress.stop()])).toEqual([0, 0]);

    worker.start();
    ingress.start();
    await Promise.all([worker.ready(), ingress.ready()]);
    const next = anEnvelope({ type: 'plan.created' });
    await source.post(next);
    await until('the next one is delivered', () => receiver.ids('/slow').includes(next.id));
    expect(receiver.ids('/slow')).toEqual([first.id, next.id]);
  });

  it('exits with 0 while it waits for Kafka', async () => {
    const worker = await App.launch('worker', { ...relay.stack.env, KAFKA_BROKERS: '127.0.0.1:1' });
    const seen = () => worker.health();
    try {
      await until('it waits', async () => (await worker.health())?.faults['worker'] === 'waiting for Kafka', { seen });
      expect(await worker.stop()).toBe(0);
    } finally {
      await worker.kill();
    }
  });

  it('exits with 0 although nobody reads its log any more', async () => {
    const { env } = relay.stack;
    const apps = await Promise.all([App.start('ingress', env), App.start('worker', env)]);
    for (const app of apps) app.hangUp();
    const codes = apps.map((app) => app.stop());
    await until('both have ended', () => apps.every((app) => !app.isRunning)).catch((error: unknown) =>
      Promise.all(apps.map((app) => app.kill())).then(() => Promise.reject(error)),
    );
    expect(await Promise.all(codes)).toEqual([0, 0]);
  });
});
