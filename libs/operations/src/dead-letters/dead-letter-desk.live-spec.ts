import { randomUUID } from 'node:crypto';
import { deliveryId } from '@relay/delivery';
import { PublishFailed } from '@relay/publishing';
import { connectRedis } from '@relay/redis';
import { BullmqRetryQueue, type DeadLetter } from '@relay/retry';
import { MemoryPublisher, startRedisServer, type RedisServer } from '@relay/testing';
import type { Redis } from 'ioredis';
import { DeadLetterBox } from './dead-letter-box.adapter.js';
import { DeadLetterDesk } from './dead-letter-desk.js';
import { readQueues } from '../queue-state.adapter.js';
import { LetterEnds } from './letter-ends.js';
import type { Registrations } from './replay.js';

const webhook = { id: 'aaaaaaaa-0000-4000-8000-000000000001', partnerId: 'acme' };
const letterOf = (webhookId: string): DeadLetter => ({
  v: 1,
  webhookId,
  partnerId: 'acme',
  envelopeId: randomUUID(),
  eventType: 'task.created',
  hash: '0123456789abcdef',
  series: 0,
  attempts: 10,
  acceptedAt: 1_000,
  body: '{}',
  reason: 'attempts_exhausted',
  diedAt: 2_000,
});

/** Read in slices of 50. */
describe('of more dead letters than there is time for', () => {
  const ALL = { ids: [], filter: {} };
  let server: RedisServer;
  let redis: Redis;
  let queue: BullmqRetryQueue;
  let box: DeadLetterBox;
  let desk: DeadLetterDesk;
  let publisher: MemoryPublisher;
  /** Moves by one with each look at it. */
  let time = 0;
  beforeAll(async () => {
    server = await startRedisServer();
    redis = connectRedis({ REDIS_URL: server.url(), REDIS_SENTINELS: [], REDIS_SENTINEL_NAME: '' }, 'queue', () => {});
    [queue, box] = [new BullmqRetryQueue(redis), new DeadLetterBox(redis)];
    publisher = new MemoryPublisher();
    publisher.createTopic('relay.dead-letters');
    const registered: Registrations = {
      find: (id) => (id === webhook.id ? webhook : undefined),
      matching: () => [],
    };
    desk = new DeadLetterDesk(box, queue, registered, new LetterEnds(publisher, ''), () => (time += 1));
  });
  afterAll(async () => {
    await Promise.all([queue.close(), box.close()]);
    redis.disconnect();
    await server.stop();
  });
  beforeEach(() => redis.flushall());
  const bury = async (count: number, webhookId: string): Promise<void> => {
    await Promise.all(Array.from({ length: count }, () => queue.bury(letterOf(webhookId))));
  };

  it('replays some, says that there are more, and the same call goes on', async () => {
    await bury(120, webhook.id);
    const some = { replayed: 50, deliveries: 50, refused: [], missing: [], complete: false };
    expect(await desk.replay(ALL, time)).toEqual(some);
    expect(await desk.replay(ALL, time)).toEqual(some);
    expect(await desk.replay(ALL, time)).toEqual({ ...some, replayed: 20, deliveries: 20, complete: true });
    expect(await box.ids()).toEqual([]);
    const jobs = (await readQueues(redis, time)).filter(({ queue: name }) => name === 'deliveries');
    expect(jobs.reduce((sum, { jobs: count }) => sum + count, 0)).toBe(120);
  });

  it('purges some, says that there are more, and the same call goes on', async () => {
    await bury(120, webhook.id);
    const some = { purged: 50, missing: [], complete: false };
    expect(await desk.purge(ALL, time)).toEqual(some);
    expect(await desk.purge(ALL, time)).toEqual(some);
    expect(await desk.purge(ALL, time)).toEqual({ ...some, purged: 20, complete: true });
    expect(await box.ids()).toEqual([]);
  });

  it('counts some, and says that there are more', async () => {
    await bury(120, webhook.id);
    expect(await desk.count(ALL, time + 2)).toEqual({ matched: 50, complete: false });
    expect(await desk.count(ALL)).toEqual({ matched: 120, complete: true });
  });

  it('says for how many a change was made before Kafka went away', async () => {
    await bury(60, 'bbbbbbbb-0000-4000-8000-000000000002');
    const publish = publisher.publish.bind(publisher);
    let told = 0;
    publisher.publish = async (record) => {
      told += 1;
      if (told > 50) throw new PublishFailed('unavailable', 'away');
      return publish(record);
    };
    const failed = desk.purge(ALL);
    await expect(failed).rejects.toThrow('it was made for 50, and the others are as they were; repeat it later.');
    await expect(desk.purge(ALL)).rejects.toThrow('nothing was changed; repeat it later.');
    publisher.publish = publish;
    expect(await box.ids()).toHaveLength(10);
    expect(await desk.purge(ALL)).toEqual({ purged: 10, missing: [], complete: true });
  });

  it('finds those of 1,000 envelopes among thousands of letters, and names the ids of none', async () => {
    const [letters, others] = [Array.from({ length: 1_000 }, () => letterOf(webhook.id)), [randomUUID(), 'none']];
    await Promise.all(letters.map((letter) => queue.bury(letter)));
    await bury(1_000, webhook.id);
    const ids = [
      ...letters.slice(1).map(({ envelopeId }) => envelopeId),
      ...letters.slice(0, 1).map(deliveryId),
      ...others,
    ];
    expect(await desk.purge({ ids, filter: {} })).toEqual({ purged: 1_000, missing: others, complete: true });
    expect(await box.ids()).toHaveLength(1_000);
  });

  it('ends at what was done: those refused before it, and those that a filter leaves out, hold nothing up', async () => {
    await bury(60, 'bbbbbbbb-0000-4000-8000-000000000002');
    await bury(60, webhook.id);
    const { refused, ...report } = await desk.replay(ALL, time);
    expect([refused.length, report]).toEqual([60, { replayed: 40, deliveries: 40, missing: [], complete: false }]);
    const mine = { ids: [], filter: { webhook: webhook.id } };
    expect(await desk.purge(mine, time)).toEqual({ purged: 20, missing: [], complete: true });
  });
});
