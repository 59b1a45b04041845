import { randomUUID } from 'node:crypto';
import { RedisDeliveryHistory, ShardHistory } from '@relay/history';
import { readQuery } from '@relay/http';
import type { DeliveryJob } from '@relay/jobs';
import { shardsOn, type Shards } from '@relay/redis';
import { BullmqRetryQueue, PendingDeliveries } from '@relay/retry';
import { MemoryPublisher, startRedisServer, type RedisServer } from '@relay/testing';
import { Redis } from 'ioredis';
import type { RegisteredWebhook } from '@relay/webhooks';
import { DeliveryRetries } from './delivery-retries.js';
import { DeliveriesQuery } from './history.openapi.js';
import { cursorOf, DeliveryLists, PartnerDeliveries, type DeliveryAnswer } from './delivery-lists.js';

const [first, second, idle] = [randomUUID(), randomUUID(), randomUUID()];
const disabled = randomUUID();
/** Of the webhooks only this is read. */
const find = async (_partnerId: string, id: string): Promise<{ details: RegisteredWebhook; version: number }> => {
  const status = id === disabled ? 'disabled' : 'active';
  return { details: { id, eventType: 'task.created', status } as RegisteredWebhook, version: 1 };
};
const aJob = (at: number, webhookId: string, status = 500): DeliveryJob => ({
  v: 1,
  webhookId,
  partnerId: 'p',
  envelopeId: randomUUID(),
  eventType: 'task.created',
  hash: '0123456789abcdef',
  series: 0,
  attempts: 1,
  acceptedAt: at - 1_000,
  tries: [
    { at: at - 1, durationMs: 3, error: 'dns', detail: 'no such name' },
    { at, durationMs: 3, status, detail: `answered ${status}`, answer: 'oops' },
  ],
  body: '{}',
});
const none = (): never => {
  throw new Error('not asked here');
};

describe.each([1, 3])('over %i shards', (shardCount) => {
  let server: RedisServer;
  let redis: Redis;
  let jobShards: Shards;
  let queue: BullmqRetryQueue;
  let jobs: PendingDeliveries;
  let deliveries: PartnerDeliveries;
  beforeAll(async () => {
    server = await startRedisServer();
    redis = new Redis(server.url(), { maxRetriesPerRequest: null });
    const shards = shardsOn(redis, shardCount);
    jobShards = shards;
    [queue, jobs] = [new BullmqRetryQueue(shards), new PendingDeliveries(shards, shards)];
    const history = new RedisDeliveryHistory(shards, 3_600_000);
    deliveries = new PartnerDeliveries({ find }, new DeliveryLists(history, jobs));
    // Stored by one script of each shard, hence within the same milliseconds.
    const lines = Array.from({ length: 60 }, (_, n) => ({
      webhookId: n % 3 === 0 ? second : first,
      envelopeId: randomUUID(),
      acceptedAt: n - 7,
      series: n % 2,
      attempts: [{ at: n, durationMs: 1, status: n % 5 === 0 ? 200 : 204 }],
    }));
    for (const [shard, part] of shards.divide(lines, ({ envelopeId }) => envelopeId))
      await new ShardHistory(shard, 3_600_000).add(part);
    const [newest] = await history.ofWebhook(first, {}, 1);
    const endedAt = newest?.endedAt ?? 0;
    // Some of each kind in the same millisecond, some before and after.
    for (const id of [first, second])
      for (const at of [endedAt, endedAt, endedAt, endedAt - 5, endedAt + 5]) {
        await queue.addDeadLetter({ ...aJob(at, id, 410), reason: 'attempts_exhausted', diedAt: at });
        await queue.add({ job: aJob(at, id), at: Date.now() + 3_600_000 });
      }
  });
  afterAll(async () => {
    await Promise.all([queue.close(), jobs.close()]);
    redis.disconnect();
    await server.stop();
  });

  const walk = async (
    query: Record<string, string>,
    of: readonly string[] = [first, second, idle],
  ): Promise<DeliveryAnswer[]> => {
    const seen: DeliveryAnswer[] = [];
    let wanted: Record<string, string> | undefined = query;
    while (wanted !== undefined) {
      const read: DeliveriesQuery = readQuery(DeliveriesQuery, wanted);
      const page = await deliveries.ofWebhooks('p', of, read);
      expect(page.deliveries.length).toBeLessThanOrEqual(read.limit);
      seen.push(...page.deliveries);
      wanted = page.next && { ...wanted, cursor: cursorOf(page.next) };
    }
    return seen;
  };

  describe.each([
    ['one webhook', [first], 50],
    ['several webhooks', [first, second, idle], 80],
  ])('the deliveries of %s', (_, of, count) => {
    it.each([1, 2, 3, 7, count - 1])('come in pages of %i as they come at once, each of them once', async (limit) => {
      const all = await walk({ limit: '200' }, of);
      expect(all).toHaveLength(count);
      expect(all.map(({ at }) => at)).toEqual(
        all
          .map(({ at }) => at)
          .toSorted()
          .toReversed(),
      );
      expect(await walk({ limit: String(limit) }, of)).toEqual(all);
    });

    it.each(['delivered', 'waiting', 'dead'] as const)('that are %s are all of that kind', async (status) => {
      const all = await walk({ limit: '200' }, of);
      expect(await walk({ limit: '2', status }, of)).toEqual(all.filter((each) => each.status === status));
    });

    it('are those since one time and until before another', async () => {
      const all = await walk({ limit: '200' }, of);
      const [newest, oldest] = [all[0]?.at ?? '', all.at(-1)?.at ?? ''];
      expect(await walk({ limit: '3', until: newest }, of)).toEqual(all.filter(({ at }) => at < newest));
      expect(await walk({ limit: '3', since: newest }, of)).toEqual(all.filter(({ at }) => at >= newest));
      expect(await walk({ since: oldest, until: oldest }, of)).toEqual([]);
      expect(await walk({ until: '1969-01-01T00:00:00Z' }, of)).toEqual([]);
    });

    it.each([
      ['500', ({ status }: DeliveryAnswer) => status === 'waiting'],
      ['4xx', ({ status }: DeliveryAnswer) => status === 'dead'],
      ['200', ({ attempts }: DeliveryAnswer) => attempts.at(-1)?.status === 200],
      ['2xx', ({ status }: DeliveryAnswer) => status === 'delivered'],
    ])('are filtered by the answer %s to their last attempt', async (httpStatus, isMeant) => {
      const all = await walk({ limit: '200' }, of);
      const meant = all.filter(isMeant);
      expect(meant.length).toBeGreaterThan(3);
      expect(await walk({ limit: '2', httpStatus }, of)).toEqual(meant);
    });
  });

  describe('a delivery', () => {
    it('tells of its envelope, its series, why it waits and what its endpoint answered', async () => {
      const [waiting] = await walk({ status: 'waiting', limit: '200' });
      expect(waiting).toMatchObject({
        eventType: 'task.created',
        acceptedAt: expect.any(String),
        series: 0,
        waitsFor: 'schedule',
        attempts: [{ error: 'dns' }, { status: 500, answer: 'oops' }],
      });
      const delivered = await walk({ status: 'delivered', limit: '200' });
      const odd = delivered.filter(({ series }) => series === 1);
      expect(odd).toHaveLength(30);
      for (const { attempts, acceptedAt } of delivered)
        expect(Date.parse(attempts[0]?.at ?? '') - Date.parse(acceptedAt)).toBe(7);
    });

    it('waits for the time that its endpoint asked for, unless the schedule has a later one', async () => {
      const [asked, scheduled] = [randomUUID(), randomUUID()];
      const at = Date.now();
      const notBefore = at + 3_600_000;
      for (const [id, dueAt] of [
        [asked, notBefore],
        [scheduled, notBefore + 60_000],
      ] as const) {
        const job = { ...aJob(at, id), attempts: 1, tries: [{ at, durationMs: 1, status: 503, notBefore }] };
        await queue.add({ job, at: dueAt });
      }
      const shown = { attempts: [{ notBefore: new Date(notBefore).toISOString() }] };
      expect(await walk({}, [asked])).toMatchObject([{ waitsFor: 'retry-after', ...shown }]);
      expect(await walk({}, [scheduled])).toMatchObject([{ waitsFor: 'schedule', ...shown }]);
    });

    it('waits for its webhook while the webhook is disabled, and otherwise for its endpoint', async () => {
      const active = randomUUID();
      for (const id of [active, disabled]) await queue.add({ job: aJob(Date.now(), id), at: Date.now() });
      expect(await walk({}, [disabled])).toMatchObject([{ waitsFor: 'webhook', nextAttemptAt: null }]);
      expect(await walk({}, [active])).toMatchObject([{ waitsFor: 'endpoint', nextAttemptAt: null }]);
    });
  });

  describe('a page', () => {
    it('looks at a thousand deliveries, whatever the filter leaves out, and goes on behind them', async () => {
      const of = [randomUUID()];
      const at = Date.now();
      const letters = Array.from({ length: 1_050 }, (_, n) => aJob(at - n, of[0] ?? '', n === 1_040 ? 418 : 500));
      for (let from = 0; from < letters.length; from += 50)
        await Promise.all(
          letters
            .slice(from, from + 50)
            .map((job) => queue.addDeadLetter({ ...job, reason: 'gone', diedAt: job.tries?.at(-1)?.at ?? 0 })),
        );
      const read = (cursor?: string) =>
        deliveries.ofWebhooks('p', of, readQuery(DeliveriesQuery, { httpStatus: '418', ...(cursor && { cursor }) }));
      const { deliveries: found, next } = await read();
      expect([found, next]).toEqual([[], { at: at - 999, id: expect.any(String) }]);
      expect((await read(next && cursorOf(next))).deliveries).toMatchObject([{ attempts: [{}, { status: 418 }] }]);
    });
  });

  describe('retries', () => {
    it('are charged for before any delivery is tried again', async () => {
      const envelopeId = randomUUID();
      const ids = Array.from({ length: 25 }, () => randomUUID());
      for (const id of ids) await queue.add({ job: { ...aJob(1, id), envelopeId }, at: Date.now() + 3_600_000 });
      const charged: number[] = [];
      const retries = new DeliveryRetries({ find: none }, jobs, jobShards, new MemoryPublisher(), {
        KAFKA_TOPIC_PREFIX: '',
      });
      const refused = retries.ofEnvelope({ partnerId: 'p' }, envelopeId, new Set(ids), async (found) => {
        charged.push(found);
        throw new Error('spent');
      });
      await expect(refused).rejects.toThrow('spent');
      expect(charged).toEqual([25]);
    });
  });
});
