import { oneShard } from '@relay/redis';
import type { Notices } from '@relay/notices';
import { Replays, type NewReplay } from '@relay/replays';
import { PinoLog, ThrottledLog } from '@relay/telemetry';
import { redisOfSpec } from '@relay/testing';
import type { Webhook } from '@relay/webhooks';
import { ReplayWatch } from './replay-orders.js';

const { redis } = await redisOfSpec();

const HOUR_MS = 3_600_000;
const NOW = 500 * HOUR_MS;
const [first, second] = ['11111111-1111-4111-8111-111111111111', '22222222-2222-4222-8222-222222222222'];
const replay = (id: string, webhookId: string): NewReplay => ({
  id,
  webhookId,
  partnerId: 'p',
  eventType: 'task.created',
  status: 'all',
  since: 5,
  until: undefined,
  orderedBy: 'partner',
});
const ranges = [{ topic: 'task.created', partition: 0, from: 0, end: 4 }];

describe('the end of a replay', () => {
  const replays = new Replays(redis, oneShard(redis));
  let told: unknown[];
  const aWatch = (from: Pick<Replays, 'idsUnderWay' | 'find' | 'newest'> = replays): ReplayWatch => {
    const tell: Notices['tell'] = async (type, { id }, facts, at) => void told.push([type, id, facts, at]);
    const find = (id: string) => (id === 'unknown' ? undefined : ({ id, eventType: 'task.created' } as Webhook));
    return new ReplayWatch(from, { find }, { tell }, new ThrottledLog(new PinoLog('spec', 'silent')));
  };
  const cancelled = (replayId: string, webhookId: string, at: number) => [
    'replay.finished',
    webhookId,
    { replayId, state: 'cancelled', matched: 4, done: 0, failed: 0 },
    at,
  ];
  beforeEach(async () => {
    await redis.flushall();
    told = [];
  });

  it('is told once by each worker, with the time of the end', async () => {
    const watch = aWatch();
    await watch.look(NOW);
    await replays.create(replay(first, 'w'), ranges, NOW);
    await watch.look(NOW);
    expect(told).toEqual([]);
    await replays.cancel(first, NOW + 7);
    for (let times = 0; times < 3; times += 1) await watch.look(NOW + 2_000);
    expect(told).toEqual([cancelled(first, 'w', NOW + 7)]);
  });

  it('is told where it began and ended between two looks', async () => {
    const watch = aWatch();
    await watch.look(NOW);
    await replays.create(replay(first, 'w'), ranges, NOW + 5);
    await replays.cancel(first, NOW + 7);
    for (let times = 1; times < 4; times += 1) await watch.look(NOW + 2_000 * times);
    expect(told).toEqual([cancelled(first, 'w', NOW + 7)]);
  });

  it('is told by a worker that starts within an hour, unless the webhook is gone', async () => {
    for (const [id, webhookId, at] of [
      [first, 'w', NOW - HOUR_MS],
      [second, 'v', NOW - 5_000],
      ['third', 'unknown', NOW - 5_000],
    ] as const) {
      await replays.create(replay(id, webhookId), ranges, at - 1);
      await replays.cancel(id, at);
    }
    await replays.create(replay('running', 'x'), ranges, NOW);
    await aWatch().look(NOW);
    expect(told).toEqual([cancelled(second, 'v', NOW - 5_000)]);
  });

  it('is told later where Redis is away meanwhile', async () => {
    let isAway = false;
    const find: Replays['find'] = (id, now) => (isAway ? Promise.reject(new Error('away')) : replays.find(id, now));
    const watch = aWatch({ find, idsUnderWay: () => replays.idsUnderWay(), newest: () => Promise.resolve([]) });
    await replays.create(replay(first, 'w'), ranges, NOW);
    await watch.look(NOW);
    await replays.cancel(first, NOW + 7);
    isAway = true;
    await watch.look(NOW + 2_000);
    isAway = false;
    await watch.look(NOW + 4_000);
    expect(told).toEqual([cancelled(first, 'w', NOW + 7)]);
  });
});
