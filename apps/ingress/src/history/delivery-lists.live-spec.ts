import { readQuery } from '@relay/http';
import { randomUUID } from 'node:crypto';
import { RedisDeliveryHistory } from '@relay/history';
import type { DeliveryJob } from '@relay/jobs';
import { BullmqRetryQueue, PendingDeliveries } from '@relay/retry';
import { startRedisServer, type RedisServer } from '@relay/testing';
import { Redis } from 'ioredis';
import type { DeliveryAnswer } from './delivery-facts.js';
import { HistoryQuery, linkToNext } from './history-query.js';
import { PartnerDeliveries } from './partner-deliveries.js';

describe('the deliveries of a webhook', () => {
  let server: RedisServer;
  let redis: Redis;
  let queue: BullmqRetryQueue;
  let jobs: PendingDeliveries;
  let deliveries: PartnerDeliveries;
  const webhookId = randomUUID();
  const aJob = (at: number): DeliveryJob => ({
    v: 1,
    webhookId,
    partnerId: 'p',
    envelopeId: randomUUID(),
    eventType: 'task.created',
    hash: '0123456789abcdef',
    series: 0,
    attempts: 1,
    acceptedAt: at - 1_000,
    tries: [{ at, durationMs: 3, status: 500 }],
    body: '{}',
  });
  beforeAll(async () => {
    server = await startRedisServer();
    redis = new Redis(server.url(), { maxRetriesPerRequest: null });
    [queue, jobs] = [new BullmqRetryQueue(redis), new PendingDeliveries(redis, redis)];
    const history = new RedisDeliveryHistory(redis, 3_600_000);
    const none = (): never => {
      throw new Error('not asked here');
    };
    deliveries = new PartnerDeliveries({ find: none }, history, jobs, none, { report: none });
    const lines = Array.from({ length: 30 }, (_, at) => ({
      webhookId,
      envelopeId: randomUUID(),
      attempts: [{ at, durationMs: 1, status: 204 }],
    }));
    await history.add(lines);
    const [newest] = await history.ofWebhook(webhookId, {}, 1);
    const endedAt = newest?.endedAt ?? 0;
    // Some of each kind in the same millisecond, some before and after.
    for (const at of [endedAt, endedAt, endedAt, endedAt - 5, endedAt + 5]) {
      await queue.addDeadLetter({ ...aJob(at), reason: 'attempts_exhausted', diedAt: at });
      await queue.add({ job: aJob(at), at: Date.now() + 3_600_000 });
    }
  });
  afterAll(async () => {
    await Promise.all([queue.close(), jobs.close()]);
    redis.disconnect();
    await server.stop();
  });

  it('are charged for before any of them is told of, or tried again', async () => {
    const envelopeId = randomUUID();
    const ids = Array.from({ length: 25 }, () => randomUUID());
    for (const id of ids)
      await queue.add({ job: { ...aJob(1), webhookId: id, envelopeId }, at: Date.now() + 3_600_000 });
    const charged: number[] = [];
    const refused = deliveries.retry('p', envelopeId, new Set(ids), async (found) => {
      charged.push(found);
      throw new Error('spent');
    });
    await expect(refused).rejects.toThrow('spent');
    expect(charged).toEqual([25]);
  });

  const walk = async (query: Record<string, string>): Promise<DeliveryAnswer[]> => {
    const seen: DeliveryAnswer[] = [];
    let wanted: Record<string, string> | undefined = query;
    while (wanted !== undefined) {
      const read: HistoryQuery = readQuery(HistoryQuery, wanted);
      const page = await deliveries.ofWebhook(webhookId, read);
      expect(page.deliveries.length).toBeLessThanOrEqual(read.limit);
      seen.push(...page.deliveries);
      const link: RegExpExecArray | null | undefined =
        page.next && /<\/deliveries\?(.*)>; rel="next"/.exec(linkToNext('/deliveries', read, page.next));
      wanted = link ? Object.fromEntries(new URLSearchParams(link[1])) : undefined;
    }
    return seen;
  };

  it.each([1, 2, 3, 7, 39])('come in pages of %i as they come at once, each of them once', async (limit) => {
    const all = await walk({ limit: '200' });
    expect(all).toHaveLength(40);
    expect(all.map(({ at }) => at)).toEqual(
      all
        .map(({ at }) => at)
        .toSorted()
        .toReversed(),
    );
    expect(await walk({ limit: String(limit) })).toEqual(all);
  });

  it.each(['delivered', 'waiting', 'dead'] as const)('that are %s are all of that kind', async (status) => {
    const all = await walk({ limit: '200' });
    expect(await walk({ limit: '2', status })).toEqual(all.filter((each) => each.status === status));
  });

  it('are those since one time and until before another', async () => {
    const all = await walk({ limit: '200' });
    const [newest, oldest] = [all[0]?.at ?? '', all.at(-1)?.at ?? ''];
    expect(await walk({ limit: '3', until: newest })).toEqual(all.filter(({ at }) => at < newest));
    expect(await walk({ limit: '3', since: newest })).toEqual(all.filter(({ at }) => at >= newest));
    expect(await walk({ since: oldest, until: oldest })).toEqual([]);
    expect(await walk({ until: '1969-01-01T00:00:00Z' })).toEqual([]);
  });
});
