import { setTimeout as delay } from 'node:timers/promises';
import { anEnvelope, type Client } from '../support/client.js';
import { failoverKinds } from '../support/failover-kinds.js';
import type { FailoverRedis } from '../support/failover-redis.js';
import { Relay } from '../support/relay.js';
import { tally } from '../support/tally.js';
import { until } from '../support/until.js';

const PER_SECOND = 50;
/** The relay gives up a connection that answers nothing after 5 s, BullMQ's one after 15 s. */
const FROZEN_MS = 9_000;
/** For some seconds more the old primary takes writes. */
const AFTERWARDS_MS = 12_000;
/** A job waits for longer than any of these takes, so that it is there to be lost. */
const RETRIES = '15s,15s,15s,15s';

describe.each(failoverKinds)('Redis with %s', (kind, start) => {
  let redis: FailoverRedis;
  let relay: Relay;
  let source: Client;
  beforeAll(async () => {
    redis = await start();
    relay = await Relay.start({ ...redis.settings, RETRY_SCHEDULE: RETRIES });
    source = await relay.source();
  });
  afterAll(async () => {
    await relay?.close();
    await redis?.close();
  });

  it('loses no job when a frozen primary is replaced, comes back and still takes what is written to it', async () => {
    const partner = await relay.partner();
    await partner.register({ eventType: 'task.created', endPointUrl: relay.receiver.url('/hook'), apiKey: 'key' });
    const accepted = new Set<string>();
    const post = async (): Promise<void> => {
      const envelope = anEnvelope();
      const answer = await source.post(envelope).catch(() => undefined);
      if (answer?.status === 202) accepted.add(envelope.id);
    };
    await post();
    await until('its endpoint is known to work', () => relay.receiver.delivered('/hook').length === 1);
    // Each fourth envelope fails at first: too few to open the breaker, and each one leaves a job.
    let isWell = false;
    const fails = (id: unknown): boolean => !isWell && /[0-3]$/.test(String(id));
    relay.receiver.decide('/hook', (headers) => ({ status: fails(headers['webhook-id']) ? 500 : 204 }));
    const before = await redis.primaryPort();
    const posting: Promise<void>[] = [];
    const postFor = async (ms: number): Promise<void> => {
      for (const end = performance.now() + ms; performance.now() < end; await delay(1_000 / PER_SECOND))
        posting.push(post());
    };
    await postFor(2_000);
    const thaw = await redis.freezePrimary();
    await postFor(FROZEN_MS);
    expect(await redis.primaryPort()).not.toBe(before);
    thaw();
    await postFor(AFTERWARDS_MS);
    await Promise.all(posting);
    isWell = true;
    const counts = () => tally(accepted, relay.receiver.delivered('/hook'));
    await until('all of them are delivered', () => counts().lost === 0, { withinMs: 90_000, seen: counts });
    process.stdout.write(`Redis with ${kind} failed over from a frozen primary: ${JSON.stringify(counts())}\n`);
  });
});
