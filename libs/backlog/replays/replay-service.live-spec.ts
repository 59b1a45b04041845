import { randomUUID } from 'node:crypto';
import { Audit } from '@relay/audit';
import { PublishFailed } from '@relay/publishing';
import { parkingKey } from '@relay/progress';
import { oneShard, shardsOn, type Shards } from '@relay/redis';
import { MemoryPublisher, redisOfSpec } from '@relay/testing';
import { ReplayService } from './replay-service.js';
import { Replays } from './replays.adapter.js';

const { redis } = await redisOfSpec({ maxRetriesPerRequest: null });

const OPEN = { since: undefined, until: undefined };
const actor = { operator: 'night' };
const targetOf = () => ({
  webhookId: randomUUID(),
  partnerId: 'acme',
  eventType: 'task.created',
  status: 'all' as const,
});
const unreported = (error: unknown): never => {
  throw error;
};

describe('ReplayService', () => {
  let publisher: MemoryPublisher;
  let service: ReplayService;
  /** How often Kafka was asked for the ranges of a time. */
  let asked = 0;
  beforeEach(async () => {
    await redis.flushall();
    asked = 0;
    publisher = new MemoryPublisher();
    publisher.createTopic('relay.operations');
    service = new ReplayService({
      replays: new Replays(redis, oneShard(redis)),
      ranges: async (eventType) => {
        asked += 1;
        return [{ topic: eventType, partition: 0, from: 2, end: eventType === 'task.created' ? 9 : 102 }];
      },
      letters: async () => 3,
      audit: new Audit(publisher, '', Date.now),
      newId: randomUUID,
      now: Date.now,
    });
  });
  const told = (): Record<string, unknown>[] =>
    publisher.read('relay.operations').map(({ value }) => JSON.parse(value.toString()) as Record<string, unknown>);
  async function ordered(): Promise<string> {
    const order = await service.order(targetOf(), OPEN, actor);
    expect(order.kind).toBe('ordered');
    return order.kind === 'ordered' ? order.replay.id : order.id;
  }

  it('reports a pause and a resumption once, and nothing for a replay that has ended', async () => {
    const id = await ordered();
    await service.resume(id, actor);
    await service.pause(id, actor, unreported);
    await service.pause(id, actor, unreported);
    expect(await service.find(id)).toMatchObject({ state: 'paused' });
    await service.resume(id, actor);
    expect(await service.find(id)).toMatchObject({ state: 'running' });
    await service.cancel(id, actor);
    await service.pause(id, actor, unreported);
    await service.resume(id, actor);
    const events = ['replay.ordered', 'replay.paused', 'replay.resumed', 'replay.cancelled'];
    expect(told()).toEqual(events.map((event) => expect.objectContaining({ event, operator: 'night', id })));
  });

  it('pauses also while Kafka is away, and passes on the cause; it does not resume then', async () => {
    const id = await ordered();
    publisher.failure = new PublishFailed('unavailable', 'away');
    const faults: unknown[] = [];
    await service.pause(id, actor, (error) => faults.push(error));
    expect([faults, await service.find(id)]).toEqual([
      [publisher.failure],
      expect.objectContaining({ state: 'paused' }),
    ]);
    await expect(service.resume(id, actor)).rejects.toThrow('nothing was changed');
    expect(await service.find(id)).toMatchObject({ state: 'paused' });
  });

  it('refuses a second replay of a webhook, and asks Kafka nothing for it', async () => {
    const id = await ordered();
    const before = asked;
    expect(await service.order(targetOf(), OPEN, actor)).toEqual({ kind: 'ordered', replay: expect.anything() });
    expect(asked).toBe(before + 1);
    const { webhookId } = (await service.find(id))!;
    expect(await service.order({ ...targetOf(), webhookId }, OPEN, actor)).toEqual({ kind: 'running', id });
    expect(asked).toBe(before + 1);
  });

  describe('for several webhooks', () => {
    const several = () => [targetOf(), { ...targetOf(), eventType: 'plan.updated' }, targetOf()];
    const matched = (result: Awaited<ReturnType<typeof service.orderEach>>) =>
      result.map((each) => (each.kind === 'ordered' ? each.replay.matched : each.id));

    it('counts for each, asks Kafka once for each event type, and leaves out what has another under way', async () => {
      const targets = several();
      const counts = (...of: number[]) => of.map((count) => ({ kind: 'counted', matched: count }));
      expect([await service.countEach(targets, OPEN), asked]).toEqual([counts(7, 100, 7), 2]);
      const failed = targets.map((target) => ({ ...target, status: 'failed' as const }));
      expect(await service.countEach(failed, OPEN)).toEqual(counts(3, 3, 3));
      const [first] = await service.orderEach(targets.slice(0, 1), OPEN, actor);
      const id = first?.kind === 'ordered' ? first.replay.id : '';
      expect(await service.countEach(targets, OPEN)).toEqual([{ kind: 'running', id }, ...counts(100, 7)]);
    });

    it('orders and reports one for each, unless another is under way', async () => {
      const targets = several();
      const alone = await service.order(targets[0] ?? targetOf(), OPEN, actor);
      const [before, id] = [asked, alone.kind === 'ordered' ? alone.replay.id : ''];
      expect(matched(await service.orderEach(targets, OPEN, actor))).toEqual([id, 100, 7]);
      expect(asked).toBe(before + 2);
      const reports = targets.map(({ webhookId }) => ({ event: 'replay.ordered', webhookId, operator: 'night' }));
      expect(told()).toHaveLength(3);
      for (const report of reports) expect(told()).toContainEqual(expect.objectContaining(report));
    });

    it('orders none before Kafka has all reports', async () => {
      const report = publisher.publish.bind(publisher);
      let left = 2;
      publisher.publish = (record) =>
        (left -= 1) < 0 ? Promise.reject(new PublishFailed('unavailable', 'away')) : report(record);
      await expect(service.orderEach(several(), OPEN, actor)).rejects.toThrow('nothing was changed');
      expect([told().length, await redis.keys('*replay*')]).toEqual([2, []]);
    });
  });

  const at = { topic: 'task.created', partition: 0 };
  const park = async (shards: Shards, webhookId: string, texts: readonly string[]): Promise<void> => {
    for (const [index, shard] of shards.all.entries())
      await redis.hset(parkingKey(shard, at), webhookId, texts[index] ?? '');
  };

  it('leaves out what waits in the log for its webhook, in a dry run alike, unless dead letters are meant', async () => {
    const target = targetOf();
    await park(oneShard(redis), target.webhookId, ['4-6,8-']);
    expect(await service.count(target, OPEN)).toBe(4);
    expect(await service.order(target, OPEN, actor)).toMatchObject({ replay: { matched: 4 } });
    const replays = new Replays(redis, oneShard(redis));
    const found = await replays.rangesOf(at, [...(await replays.orders()).keys]);
    const [left] = [...found.values()].map(({ ranges }) => ranges);
    expect(left).toEqual([
      { from: 2, to: 4 },
      { from: 6, to: 8 },
    ]);
    const failed = { ...targetOf(), status: 'failed' as const };
    await park(oneShard(redis), failed.webhookId, ['0-']);
    expect(await service.order(failed, OPEN, actor)).toMatchObject({ replay: { matched: 7 } });
  });

  it('leaves out what waits in every shard', async () => {
    const [shards, target] = [shardsOn(redis, 2), targetOf()];
    const unwaited = () => new Replays(redis, shards).unwaited(target, [{ ...at, from: 2, end: 9 }]);
    await park(shards, target.webhookId, ['3-6', '4-']);
    expect(await unwaited()).toEqual([
      { ...at, from: 2, end: 4 },
      { ...at, from: 6, end: 9 },
    ]);
    await park(shards, target.webhookId, ['0-', '9-']);
    expect(await unwaited()).toEqual([{ ...at, from: 2, end: 9 }]);
  });
});
