import { randomUUID } from 'node:crypto';
import { Audit } from '@relay/audit';
import { PublishFailed } from '@relay/publishing';
import { connectRedis } from '@relay/redis';
import { MemoryPublisher, startRedisServer, type RedisServer } from '@relay/testing';
import type { Redis } from 'ioredis';
import { ReplayService } from './replay-service.js';
import { Replays } from './replays.adapter.js';

const OPEN = { since: undefined, until: undefined };
const actor = { operator: 'night' };
const targetOf = () => ({
  webhookId: randomUUID(),
  partnerId: 'acme',
  eventType: 'task.created',
  status: 'all' as const,
});
const untold = (error: unknown): never => {
  throw error;
};

describe('the desk of replays', () => {
  let server: RedisServer;
  let redis: Redis;
  let publisher: MemoryPublisher;
  let desk: ReplayService;
  /** How often Kafka was asked for the ranges of a time. */
  let asked = 0;
  beforeAll(async () => {
    server = await startRedisServer();
    redis = connectRedis({ REDIS_URL: server.url(), REDIS_SENTINELS: [], REDIS_SENTINEL_NAME: '' }, 'queue', () => {});
  });
  afterAll(async () => {
    redis.disconnect();
    await server.stop();
  });
  beforeEach(async () => {
    await redis.flushall();
    asked = 0;
    publisher = new MemoryPublisher();
    publisher.createTopic('relay.operations');
    desk = new ReplayService({
      replays: new Replays(redis),
      ranges: async () => {
        asked += 1;
        return [{ topic: 'task.created', partition: 0, from: 2, end: 9 }];
      },
      letters: async () => 0,
      audit: new Audit(publisher, '', Date.now),
      newId: randomUUID,
      now: Date.now,
    });
  });
  const told = (): Record<string, unknown>[] =>
    publisher.read('relay.operations').map(({ value }) => JSON.parse(value.toString()) as Record<string, unknown>);
  async function ordered(): Promise<string> {
    const order = await desk.order(targetOf(), OPEN, actor);
    expect(order.kind).toBe('ordered');
    return order.kind === 'ordered' ? order.replay.id : order.id;
  }

  it('tells that a replay is held up and goes on, and of one that is so already or has ended nothing', async () => {
    const id = await ordered();
    await desk.resume(id, actor);
    await desk.pause(id, actor, untold);
    await desk.pause(id, actor, untold);
    expect(await desk.find(id)).toMatchObject({ state: 'paused' });
    await desk.resume(id, actor);
    expect(await desk.find(id)).toMatchObject({ state: 'running' });
    await desk.cancel(id, actor);
    await desk.pause(id, actor, untold);
    await desk.resume(id, actor);
    const events = ['replay.ordered', 'replay.paused', 'replay.resumed', 'replay.cancelled'];
    expect(told()).toEqual(events.map((event) => expect.objectContaining({ event, operator: 'night', id })));
  });

  it('holds one up also while Kafka takes nothing, and passes on why; it lets none go on then', async () => {
    const id = await ordered();
    publisher.failure = new PublishFailed('unavailable', 'away');
    const faults: unknown[] = [];
    await desk.pause(id, actor, (error) => faults.push(error));
    expect([faults, await desk.find(id)]).toEqual([[publisher.failure], expect.objectContaining({ state: 'paused' })]);
    await expect(desk.resume(id, actor)).rejects.toThrow('nothing was changed');
    expect(await desk.find(id)).toMatchObject({ state: 'paused' });
  });

  it('orders for many by what it looked up once, and a second one for a webhook all the same not', async () => {
    const sight = await desk.look('task.created', OPEN);
    expect(sight).toMatchObject({ records: 7, underWay: [] });
    const targets = Array.from({ length: 5 }, targetOf);
    for (const target of targets)
      expect(await desk.order(target, OPEN, actor, sight)).toMatchObject({ kind: 'ordered', replay: { matched: 7 } });
    expect(asked).toBe(1);
    for (const target of targets)
      expect(await desk.order(target, OPEN, actor, sight)).toEqual({ kind: 'running', id: expect.any(String) });
    expect((await desk.look('task.created', OPEN)).underWay).toHaveLength(5);
  });
});
