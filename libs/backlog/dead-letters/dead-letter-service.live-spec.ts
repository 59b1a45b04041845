import { randomUUID } from 'node:crypto';
import { jest } from '@jest/globals';
import { deliveryId } from '@relay/delivery';
import { readQueues } from '@relay/jobs';
import { PublishFailed } from '@relay/publishing';
import { connectRedis, shardsOn, type Shards } from '@relay/redis';
import { BullmqRetryQueue } from '@relay/retry';
import { MemoryPublisher, startRedisServer, type RedisServer } from '@relay/testing';
import type { Redis } from 'ioredis';
import { DeadLetterReader } from './dead-letter-store.adapter.js';
import { DeadLetterEndings, DeadLetterService } from './dead-letter-service.js';
import type { DeadLetter, WebhookFinder } from './dead-letter.js';

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

/** The service reads slices of 50. */
describe.each([1, 3])('DeadLetterService over %i shards with more dead letters than its time allows', (count) => {
  const ALL = { ids: [], filter: {} };
  let server: RedisServer;
  let redis: Redis;
  let shards: Shards;
  let queue: BullmqRetryQueue;
  let reader: DeadLetterReader;
  let service: DeadLetterService;
  let publisher: MemoryPublisher;
  /** Advances by one with each reading. */
  let time = 0;
  beforeAll(async () => {
    server = await startRedisServer();
    redis = connectRedis({ REDIS_URL: server.url(), REDIS_SENTINELS: [], REDIS_SENTINEL_NAME: '' }, 'queue', () => {});
    shards = shardsOn(redis, count);
    [queue, reader] = [new BullmqRetryQueue(shards), new DeadLetterReader(shards)];
    publisher = new MemoryPublisher();
    publisher.createTopic('relay.dead-letters');
    const registered: WebhookFinder = {
      find: (id) => (id === webhook.id ? webhook : undefined),
      matching: () => [],
    };
    service = new DeadLetterService(reader, queue, registered, new DeadLetterEndings(publisher, ''), () => (time += 1));
  });
  afterAll(async () => {
    await Promise.all([queue.close(), reader.close()]);
    redis.disconnect();
    await server.stop();
  });
  beforeEach(() => redis.flushall());
  const addDeadLetters = async (letters: number, webhookId: string): Promise<void> => {
    await Promise.all(Array.from({ length: letters }, () => queue.addDeadLetter(letterOf(webhookId))));
  };

  it('replays some, reports that it is incomplete, and goes on with the same call', async () => {
    await addDeadLetters(120, webhook.id);
    const some = { replayed: 50, deliveries: 50, refused: [], refusedCount: 0, missing: [], complete: false };
    expect(await service.replay(ALL, time)).toEqual(some);
    expect(await service.replay(ALL, time)).toEqual(some);
    expect(await service.replay(ALL, time)).toEqual({ ...some, replayed: 20, deliveries: 20, complete: true });
    expect(await reader.ids()).toEqual([]);
    const jobs = (await readQueues(shards, time)).filter(({ queue: name }) => name === 'deliveries');
    expect(jobs.reduce((sum, { jobs: waiting }) => sum + waiting, 0)).toBe(120);
  });

  it('purges some, reports that it is incomplete, and goes on with the same call', async () => {
    await addDeadLetters(120, webhook.id);
    const some = { purged: 50, missing: [], complete: false };
    expect(await service.purge(ALL, time)).toEqual(some);
    expect(await service.purge(ALL, time)).toEqual(some);
    expect(await service.purge(ALL, time)).toEqual({ ...some, purged: 20, complete: true });
    expect(await reader.ids()).toEqual([]);
  });

  it.each(['replay', 'purge'] as const)('leaves out of a %s what died after the time of its count', async (verb) => {
    await addDeadLetters(2, webhook.id);
    const until = Date.now() + 1;
    await queue.addDeadLetter({ ...letterOf(webhook.id), diedAt: until });
    const counted = { ids: [], filter: { until } };
    expect(await service.count(counted)).toEqual({ matched: 2, complete: true });
    expect(await service[verb](counted)).toMatchObject({ [verb === 'purge' ? 'purged' : 'replayed']: 2 });
    expect(await reader.ids()).toHaveLength(1);
  });

  it('counts some, and reports that the count is incomplete', async () => {
    await addDeadLetters(120, webhook.id);
    expect(await service.count(ALL, time + 2)).toEqual({ matched: 50, complete: false });
    expect(await service.count(ALL)).toEqual({ matched: 120, complete: true });
  });

  it('names how many it has changed when Kafka goes away', async () => {
    await addDeadLetters(60, DELETED);
    const publish = publisher.publish.bind(publisher);
    let published = 0;
    publisher.publish = async (record) => {
      published += 1;
      if (published > 50) throw new PublishFailed('unavailable', 'away');
      return publish(record);
    };
    const failed = service.purge(ALL);
    await expect(failed).rejects.toThrow(
      'the change was made for 50, the others are unchanged; repeat the request later.',
    );
    await expect(service.purge(ALL)).rejects.toThrow('nothing was changed; repeat the request later.');
    publisher.publish = publish;
    expect(await reader.ids()).toHaveLength(10);
    expect(await service.purge(ALL)).toEqual({ purged: 10, missing: [], complete: true });
  });

  it('finds the dead letters of 1,000 envelopes among thousands, and names the unknown ids', async () => {
    const [letters, others] = [Array.from({ length: 1_000 }, () => letterOf(webhook.id)), [randomUUID(), 'none']];
    await Promise.all(letters.map((letter) => queue.addDeadLetter(letter)));
    await addDeadLetters(1_000, webhook.id);
    const ids = [
      ...letters.slice(1).map(({ envelopeId }) => envelopeId),
      ...letters.slice(0, 1).map(deliveryId),
      ...others,
    ];
    expect(await service.purge({ ids, filter: {} })).toEqual({ purged: 1_000, missing: others, complete: true });
    expect(await reader.ids()).toHaveLength(1_000);
  });

  it('stops also when it refuses all, returns the last one, and goes on after it to the end', async () => {
    await addDeadLetters(120, DELETED);
    await addDeadLetters(60, webhook.id);
    const ids = await reader.ids();
    const reports = [];
    let after: string | undefined;
    do {
      const { refused, ...report } = await service.replay({ ...ALL, ...(after === undefined ? {} : { after }) }, time);
      expect(refused).toHaveLength(report.refusedCount);
      reports.push(report);
      after = report.after;
    } while (reports.length < 9 && !reports.at(-1)?.complete);
    const slices = [0, 50, 100, 150].map((from) => ids.slice(from, from + 50));
    expect(reports).toEqual(
      slices.map((slice, index) => {
        const kept = slice.filter((id) => id.startsWith(DELETED));
        const replayed = slice.length - kept.length;
        const counts = { replayed, deliveries: replayed, refusedCount: kept.length, missing: [] };
        return Object.assign(counts, index < 3 ? { complete: false, after: kept.at(-1) } : { complete: true });
      }),
    );
    expect(await reader.ids()).toHaveLength(120);
  });

  it('stops also when none matches the filter, and begins anew when the last one was removed', async () => {
    await addDeadLetters(60, DELETED);
    const gone = { ids: [], filter: { reason: 'gone' } };
    const [, ids] = [await service.purge(gone), await reader.ids()];
    expect(await service.purge(gone, time)).toEqual({ purged: 0, missing: [], complete: false, after: ids[49] });
    expect(await service.purge({ ...gone, after: ids[49] ?? '' }, time)).toEqual({
      purged: 0,
      missing: [],
      complete: true,
    });
    expect(await service.purge({ ...ALL, after: 'gone' })).toEqual({ purged: 60, missing: [], complete: true });
  });

  it('names the first thousand refused dead letters, and counts all', async () => {
    await addDeadLetters(1_020, DELETED);
    const { refused, refusedCount } = await service.replay(ALL);
    expect([refused.length, refusedCount]).toEqual([1_000, 1_020]);
  });

  it('lists without reading bodies, and reads only the dead letters of the selected webhook', async () => {
    await addDeadLetters(60, DELETED);
    const { envelopeId, ...rest } = letterOf(webhook.id);
    await queue.addDeadLetter({ ...rest, envelopeId, body: JSON.stringify('x'.repeat(100_000)) });
    const withBody = jest.spyOn(reader, 'withBody');
    const read = jest.spyOn(reader, 'read');
    const { letters, ...listed } = await service.list({ webhook: webhook.id }, 100, time);
    expect([listed, letters.length, letters[0]?.envelopeId]).toEqual([{ stored: 61, complete: true }, 1, envelopeId]);
    expect(JSON.stringify(letters)).not.toContain('xxx');
    expect([withBody.mock.calls.length, read.mock.calls[0]?.[0]]).toEqual([0, [letters[0]?.id]]);
    const next = expect.any(String);
    expect(await service.list({ reason: 'gone' }, 100, time)).toEqual({
      letters: [],
      stored: 61,
      complete: false,
      next,
    });
    expect((await service.list({}, 20, time)).letters).toHaveLength(20);
    jest.restoreAllMocks();
  });

  it('lists all of them in pages, also where one that ends a page is removed meanwhile', async () => {
    await addDeadLetters(130, DELETED);
    const listed: string[] = [];
    let cursor: string | undefined;
    do {
      const { letters, next } = await service.list({}, 40, Infinity, cursor);
      listed.push(...letters.map(({ id }) => id));
      cursor = next;
      if (listed.length === 40) await service.purge({ ids: listed.slice(-1), filter: {} });
      if (listed.length === 80) await addDeadLetters(1, webhook.id);
    } while (cursor !== undefined);
    // Of several shards, a page may show the one that came meanwhile.
    expect(new Set(listed.filter((id) => id.startsWith(DELETED))).size).toBe(130);
    // Nor is one left out where time ends the pages.
    const found = new Set<string>();
    do {
      const { letters, next } = await service.list({ webhook: DELETED }, 100, time, cursor);
      for (const { id } of letters) found.add(id);
      cursor = next;
    } while (cursor !== undefined);
    expect(found.size).toBe(129);
  });

  it('finds no dead letter under the name of a BullMQ key', async () => {
    await addDeadLetters(1, DELETED);
    for (const name of ['wait', 'meta', 'id']) expect(await service.find(name)).toBeUndefined();
  });
});
