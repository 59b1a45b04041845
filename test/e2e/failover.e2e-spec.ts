import { setTimeout as delay } from 'node:timers/promises';
import { anEnvelope, type Client } from '../support/client.js';
import { failoverKinds } from '../support/failover-kinds.js';
import type { FailoverRedis } from '../support/failover-redis.js';
import { Relay } from '../support/relay.js';
import { tally } from '../support/tally.js';
import { until } from '../support/until.js';

const ENVELOPES = 2_000;
const PER_SECOND = 200;

describe.each(failoverKinds)('Redis with %s', (kind, start) => {
  let redis: FailoverRedis;
  let relay: Relay;
  let source: Client;
  beforeAll(async () => {
    redis = await start();
    relay = await Relay.start(redis.settings);
    source = await relay.source();
  });
  afterAll(async () => {
    await relay?.close();
    await redis?.close();
  });

  /** As a source should: what is not answered 202 is posted again with the same id. */
  async function post(envelope: ReturnType<typeof anEnvelope>): Promise<void> {
    for (;;) {
      const answer = await source.post(envelope).catch(() => undefined);
      if (answer?.status === 202) return;
      if (![undefined, 503].includes(answer?.status)) throw new Error(`answered ${answer?.status} ${answer?.text}`);
      await delay(200);
    }
  }

  it('goes on by itself when the replica becomes the primary under load, and loses nothing', async () => {
    const partner = await relay.partner();
    relay.receiver.decide('/hook', () => ({ status: 204, delayMs: 5 }));
    await partner.register({ eventType: 'task.created', endPointUrl: relay.receiver.url('/hook'), apiKey: 'key' });
    const before = await redis.primaryPort();
    const accepted = new Set<string>();
    const posting: Promise<void>[] = [];
    for (let n = 0; n < ENVELOPES; n += 1) {
      const envelope = anEnvelope();
      posting.push(post(envelope).then(() => void accepted.add(envelope.id)));
      if (n === ENVELOPES / 4) await redis.killPrimary();
      await delay(1_000 / PER_SECOND);
    }
    await until('the replica is the primary', async () => (await redis.primaryPort().catch(() => before)) !== before);
    await Promise.all(posting);
    expect(accepted.size).toBe(ENVELOPES);
    const counts = () => tally(accepted, relay.receiver.delivered('/hook'));
    await until('all of them are delivered', () => counts().lost === 0, { withinMs: 90_000, seen: counts });
    process.stdout.write(`Redis with ${kind} failed over under load: ${JSON.stringify(counts())}\n`);
    // A registration answered 201 outlives the writes that the replica did not have.
    expect((await partner.request('GET', '/webhooks')).json).toHaveLength(1);
  });
});
