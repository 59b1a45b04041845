import { randomUUID } from 'node:crypto';
import { jest } from '@jest/globals';
import { deliveryId } from '@relay/delivery';
import { readQueues } from '@relay/jobs';
import { PublishFailed } from '@relay/publishing';
import { connectRedis } from '@relay/redis';
import { BullmqRetryQueue } from '@relay/retry';
import { MemoryPublisher, startRedisServer, type RedisServer } from '@relay/testing';
import type { Redis } from 'ioredis';
import { LetterEnds } from './dead-letter-endings.js';
import { DeadLetterBox } from './dead-letter-reader.adapter.js';
import type { Registrations } from './dead-letter-replay.js';
import { DeadLetterDesk } from './dead-letter-service.js';
import type { DeadLetter } from './dead-letter.js';

const webhook = { id: 'aaaaaaaa-0000-4000-8000-000000000001', partnerId: 'acme' };
const DELETED = 'bbbbbbbb-0000-4000-8000-000000000002';
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
  diedAt: Date.now(),
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
    const some = { replayed: 50, deliveries: 50, refused: [], refusedCount: 0, missing: [], complete: false };
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
    await bury(60, DELETED);
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

  it('stops where none could be replayed too, says after which one, and goes on there to the end', async () => {
    await bury(120, DELETED);
    await bury(60, webhook.id);
    const ids = await box.ids();
    const some = { replayed: 0, deliveries: 0, refusedCount: 50, missing: [], complete: false };
    const reports = [];
    let after: string | undefined;
    do {
      const { refused, ...report } = await desk.replay({ ...ALL, ...(after === undefined ? {} : { after }) }, time);
      expect(refused).toHaveLength(report.refusedCount);
      reports.push(report);
      after = report.after;
    } while (reports.length < 9 && !reports.at(-1)?.complete);
    expect(reports).toEqual([
      { ...some, after: ids[49] },
      { ...some, after: ids[99] },
      { ...some, replayed: 30, deliveries: 30, refusedCount: 20, after: ids[119] },
      { ...some, replayed: 30, deliveries: 30, refusedCount: 0, complete: true },
    ]);
    expect(await box.ids()).toHaveLength(120);
  });

  it('stops where a filter lets none pass too, and begins anew where the one after which it goes on is gone', async () => {
    await bury(60, DELETED);
    const gone = { ids: [], filter: { reason: 'gone' } };
    const [, ids] = [await desk.purge(gone), await box.ids()];
    expect(await desk.purge(gone, time)).toEqual({ purged: 0, missing: [], complete: false, after: ids[49] });
    expect(await desk.purge({ ...gone, after: ids[49] ?? '' }, time)).toEqual({
      purged: 0,
      missing: [],
      complete: true,
    });
    expect(await desk.purge({ ...ALL, after: 'gone' })).toEqual({ purged: 60, missing: [], complete: true });
  });

  it('names the first thousand that it refuses, and how many there are', async () => {
    await bury(1_020, DELETED);
    const { refused, refusedCount } = await desk.replay(ALL);
    expect([refused.length, refusedCount]).toEqual([1_000, 1_020]);
  });

  it('lists without bodies, which are not even read, and those of a webhook without a look at the others', async () => {
    await bury(60, DELETED);
    const { envelopeId, ...rest } = letterOf(webhook.id);
    await queue.bury({ ...rest, envelopeId, body: JSON.stringify('x'.repeat(100_000)) });
    const whole = jest.spyOn(box, 'whole');
    const read = jest.spyOn(box, 'read');
    const { letters, ...listed } = await desk.list({ webhook: webhook.id }, 100, time);
    expect([listed, letters.length, letters[0]?.envelopeId]).toEqual([{ stored: 61, complete: true }, 1, envelopeId]);
    expect(JSON.stringify(letters)).not.toContain('xxx');
    expect([whole.mock.calls.length, read.mock.calls[0]?.[0]]).toEqual([0, [letters[0]?.id]]);
    expect(await desk.list({ reason: 'gone' }, 100, time)).toEqual({ letters: [], stored: 61, complete: false });
    expect((await desk.list({}, 20, time)).letters).toHaveLength(20);
    jest.restoreAllMocks();
  });

  it('finds no letter under the name of a key of BullMQ', async () => {
    await bury(1, DELETED);
    for (const name of ['wait', 'meta', 'id']) expect(await desk.find(name)).toBeUndefined();
  });
});
