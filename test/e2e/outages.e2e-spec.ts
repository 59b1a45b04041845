import { App } from '../support/app.js';
import { anEnvelope } from '../support/client.js';
import { partner, relay, servers, source, startRelayWithServers } from '../support/shared-relay.js';
import { tally } from '../support/tally.js';
import { until } from '../support/until.js';

startRelayWithServers({ RETRY_SCHEDULE: '1s,1s,1s' });

beforeAll(async () => {
  await partner.register({ eventType: 'task.created', endPointUrl: relay.receiver.url('/hook'), apiKey: 'k' });
  await source.post(anEnvelope());
  await until('the first envelope is delivered', () => relay.receiver.at('/hook').length === 1);
});

const isReady = async (app: App) => (await app.health())?.status === 'ok';

describe('the relay', () => {
  it('loses nothing while Redis is away: known sources are answered 202, and everything is delivered once when it is back', async () => {
    servers.kill('redis');
    await until('the worker is not ready', async () => !(await isReady(relay.worker)));
    const sent = new Set<string>();
    for (let round = 0; round < 20; round += 1) {
      const envelope = anEnvelope();
      const answer = await source.post(envelope);
      expect([answer.status, answer.json['status']]).toEqual([202, 'accepted']);
      sent.add(envelope.id);
    }
    const stranger = await source.post(anEnvelope(), { authorization: '', 'x-api-key': 'relay_ak_unknown' });
    expect([stranger.status, stranger.headers.get('retry-after')]).toEqual([503, expect.stringMatching(/^\d+$/)]);
    expect(relay.receiver.at('/hook')).toHaveLength(1);

    await servers.bringUp();
    const counts = () => tally(sent, relay.receiver.ids('/hook').slice(1));
    await until('everything accepted meanwhile is delivered', () => counts().lost === 0, {
      seen: counts,
    });
    expect(counts().duplicates).toBe(0);
    await until('both are ready again', async () => (await isReady(relay.worker)) && (await isReady(relay.ingress)));
  });

  it('answers 503 with Retry-After within 10 s and never 202 while Kafka is away, and heals by itself', async () => {
    servers.kill('kafka');
    const envelope = anEnvelope();
    const askedAt = performance.now();
    const answer = await source.post(envelope);
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, expect.stringMatching(/^\d+$/)]);
    const answeredMs = performance.now() - askedAt;
    process.stdout.write(`Kafka killed: answered 503 after ${Math.round(answeredMs)} ms\n`);
    // Within 10 s by lanes.spec's clock; twice that here, because this machine may be busy with other suites.
    expect(answeredMs).toBeLessThan(20_000);
    await until('the ingress is not ready', async () => !(await isReady(relay.ingress)), { withinMs: 30_000 });

    await servers.bringUp();
    const status = await until('the same envelope is accepted', async () => {
      const repeat = await source.post(envelope);
      return repeat.status === 202 && repeat.json['status'];
    });
    expect(['accepted', 'duplicate']).toContain(status);
    const received = () => relay.receiver.ids('/hook').filter((id) => id === envelope.id).length;
    await until('it is delivered', () => received() === 1, {
      seen: () => relay.worker.log.slice(-20),
    });
    await until('both are ready again', async () => (await isReady(relay.worker)) && (await isReady(relay.ingress)));
  });

  it('waits at its start for a store that is away: a process says what it waits for and is not ready meanwhile', async () => {
    servers.kill('redis');
    servers.kill('kafka');
    await Promise.all([relay.ingress.kill(), relay.worker.kill()]);
    relay.ingress.start();
    relay.worker.start();
    for (const app of [relay.ingress, relay.worker]) {
      const faults = await until(`the ${app.role} says that it is not ready`, async () => (await app.health())?.faults);
      expect(JSON.stringify(faults)).toContain('Redis');
      const recent = () => app.log.slice(-20);
      await until('its log says what it waits for', () => /waits for Redis/.test(recent().join('\n')), {
        seen: recent,
      });
    }
    await servers.bringUp();
    await Promise.all([relay.ingress.ready(), relay.worker.ready(60_000)]);
    const envelope = anEnvelope();
    expect((await source.post(envelope)).status).toBe(202);
    await until('it is delivered', () => relay.receiver.ids('/hook').includes(envelope.id));
  });

  // Last, because nothing of this relay works after it: its registrations are gone as well.
  it('recognises that Redis was emptied: the worker reads no more, is not ready and says what is to be done', async () => {
    // A worker started anew knows by the group's commits, which follow lazily, that the log was read before.
    await until('the group has committed', async () => (await relay.stack.lag('task.created')) === 0);
    await relay.stack.redisLost();
    const log = async () => (await relay.worker.health())?.faults['log'];
    const fault = await until(
      'the worker tells it',
      async () => /restore Redis/.test((await log()) ?? '') && (await log()),
    );
    expect(fault).toMatch(/^Redis knows no progress of .*task\.created\/\d/);
    expect(relay.worker.log.join('\n')).toContain('log.progress_lost');
    await relay.worker.stop();
    relay.worker.start();
    await until('a worker started anew tells it as well', async () => /restore Redis/.test((await log()) ?? ''), {
      seen: log,
    });
  });
});
