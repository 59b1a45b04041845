import { oneShard } from '@relay/redis';
import { randomUUID } from 'node:crypto';
import { Audit } from '@relay/audit';
import { PublishFailed } from '@relay/publishing';
import { MemoryPublisher, redisOfSpec } from '@relay/testing';
import { ReplayGroupStore } from './replay-group-store.adapter.js';
import { ReplayGroups } from './replay-groups.js';
import { Replays } from './replays.adapter.js';

const { redis } = await redisOfSpec();
const OPEN = { since: undefined, until: undefined };
const actor = { operator: 'night', requestId: 'r1' };
const targetOf = (eventType = 'task.created') => ({
  webhookId: randomUUID(),
  partnerId: 'acme',
  eventType,
  status: 'all' as const,
});

describe('replays of several webhooks', () => {
  let publisher: MemoryPublisher;
  let groups: ReplayGroups;
  let replays: Replays;
  /** The event types whose ranges Kafka was asked for. */
  let asked: string[];
  beforeEach(async () => {
    await redis.flushall();
    asked = [];
    publisher = new MemoryPublisher();
    publisher.createTopic('relay.operations');
    replays = new Replays(redis, oneShard(redis));
    groups = new ReplayGroups({
      replays,
      groups: new ReplayGroupStore(redis),
      ranges: async (eventType) => {
        asked.push(eventType);
        const end = eventType === 'task.created' ? 9 : 102;
        return [{ topic: eventType, partition: 0, from: 2, end }];
      },
      letters: async () => 3,
      audit: new Audit(publisher, '', Date.now),
      newId: randomUUID,
      now: Date.now,
    });
  });
  const told = (): Record<string, unknown>[] =>
    publisher.read('relay.operations').map(({ value }) => JSON.parse(value.toString()) as Record<string, unknown>);
  const ordered = async (targets = [targetOf(), targetOf('plan.updated')]) =>
    groups.order(await groups.plan(targets, OPEN, 'all', []), actor);

  it('are counted webhook by webhook, each event type once', async () => {
    const targets = [targetOf(), targetOf('plan.updated'), targetOf()];
    const plan = await groups.plan(targets, OPEN, 'all', []);
    expect(plan.steps.map(({ target, matched }) => [target.webhookId, matched])).toEqual(
      targets.map(({ webhookId }, index) => [webhookId, [7, 100, 7][index]]),
    );
    expect(asked.toSorted()).toEqual(['plan.updated', 'task.created']);
    const failed = await groups.plan(targets, OPEN, 'failed', []);
    expect(failed.steps.map(({ matched }) => matched)).toEqual([3, 3, 3]);
    expect([told(), await replays.idsUnderWay()]).toEqual([[], []]);
  });

  it('are ordered after one report that names them, and their progress is the sum', async () => {
    const targets = [targetOf(), targetOf('plan.updated')];
    const ids = targets.map(({ webhookId }) => webhookId);
    const group = await ordered(targets);
    expect(group).toMatchObject({
      state: 'running',
      matched: 107,
      done: 0,
      missing: [],
      leftOut: [],
      endedAt: undefined,
    });
    expect(group.known.map(({ webhookId, matched, groupId }) => [webhookId, matched, groupId])).toEqual([
      [ids[0], 7, group.id],
      [ids[1], 100, group.id],
    ]);
    expect(told()).toEqual([
      expect.objectContaining({ event: 'replays.ordered', ...actor, id: group.id, status: 'all', webhookIds: ids }),
    ]);
    expect(await groups.find(group.id)).toMatchObject({ matched: 107 });
    expect(await groups.find(randomUUID())).toBeUndefined();
  });

  it('leave out a webhook that has another one under way, before the order and while it is made', async () => {
    const [first, second, third] = [targetOf(), targetOf(), targetOf()];
    const earlier = await ordered([first]);
    const plan = await groups.plan([first, second, third], OPEN, 'all', []);
    const why = (webhookId: string, replayId: string | undefined) => ({ webhookId, why: 'running', replayId });
    expect(plan.leftOut).toEqual([why(first.webhookId, earlier.known[0]?.id)]);
    const faster = await ordered([second]);
    const group = await groups.order(plan, actor);
    expect(group.known.map(({ webhookId }) => webhookId)).toEqual([third.webhookId]);
    const both = [...plan.leftOut, why(second.webhookId, faster.known[0]?.id)];
    expect([group.leftOut, group.missing]).toEqual([both, []]);
  });

  it('are not ordered while Kafka does not take the report', async () => {
    publisher.failure = new PublishFailed('unavailable', 'away');
    await expect(ordered()).rejects.toThrow('nothing was changed');
    expect(await redis.keys('*replay*')).toEqual([]);
  });

  it('are told as missing where the process ended before they were stored, and can be ordered again', async () => {
    const targets = [targetOf(), targetOf(), targetOf()];
    const create = replays.create.bind(replays);
    let left = 2;
    replays.create = (...order) => ((left -= 1) < 0 ? Promise.reject(new Error('killed')) : create(...order));
    await expect(ordered(targets)).rejects.toThrow('killed');
    replays.create = create;
    const id = String(told()[0]?.['id']);
    expect(await groups.find(id)).toMatchObject({ state: 'running', matched: 14, missing: [targets[2]?.webhookId] });
    const again = await ordered(targets);
    expect(again.known.map(({ webhookId }) => webhookId)).toEqual([targets[2]?.webhookId]);
    await groups.cancel(id, actor);
    expect(await groups.find(id)).toMatchObject({ state: 'cancelled' });
  });

  it('are paused, resumed and ended together, each reported once', async () => {
    const { id, known } = await ordered();
    const unreported = (error: unknown): never => {
      throw error;
    };
    const stateOf = async () => (await groups.find(id))?.state;
    await groups.resume(id, actor);
    await replays.pause(known[0]?.id ?? '', true);
    expect(await stateOf()).toBe('running');
    await groups.pause(id, actor, unreported);
    await groups.pause(id, actor, unreported);
    expect(await stateOf()).toBe('paused');
    await groups.resume(id, actor);
    expect(await stateOf()).toBe('running');
    expect([await groups.cancel(id, actor), await groups.cancel(id, actor)]).toEqual([true, false]);
    expect(await stateOf()).toBe('cancelled');
    await groups.resume(id, actor);
    const events = ['replays.ordered', 'replays.paused', 'replays.resumed', 'replays.cancelled'];
    expect(told().map(({ event }) => event)).toEqual(events);
    expect(told().slice(1)).toEqual(events.slice(1).map((event) => expect.objectContaining({ event, ...actor, id })));
    publisher.failure = new PublishFailed('unavailable', 'away');
    const faults: unknown[] = [];
    const other = { ...actor, operator: 'day' };
    await expect(groups.cancel(id, other)).resolves.toBe(false);
    await groups.pause(id, other, (error) => faults.push(error));
    expect(faults).toEqual([]);
  });
});
