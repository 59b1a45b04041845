import { envelopeIdOf } from '@relay/jobs';
import { anEnvelope } from '../support/client.js';
import { partner, relay, source, startRelay } from '../support/shared-relay.js';
import { until } from '../support/until.js';

const eventType = 'task.updated';
/** A job is missing for a minute before it is taken back, and for another one where Kafka did not answer in time. */
const TAKEN_BACK = { withinMs: 180_000 };

startRelay({ RETRY_SCHEDULE: '15s,15s' });

const queueKey = (id: string, ...rest: string[]): string =>
  relay.stack.shards.of(envelopeIdOf(id)).key('deliveries', ...rest);
const inEachShard = async (key: 'wait' | 'delayed' | 'active'): Promise<string[]> => {
  const ids = relay.stack.shards.all.map((shard) =>
    key === 'delayed'
      ? shard.redis.zrange(shard.key('deliveries', key), '0', '-1')
      : shard.redis.lrange(shard.key('deliveries', key), 0, -1),
  );
  return (await Promise.all(ids)).flat();
};

describe('a waiting delivery', () => {
  it('is taken back from the log with its attempts if Redis has lost its job, and one that has ended is not', async () => {
    relay.receiver.plan('/hook', { status: 500 });
    await partner.register({ eventType, endPointUrl: relay.receiver.url('/hook'), apiKey: 'key' });
    const ended = anEnvelope({ type: eventType });
    relay.receiver.plan('/hook', { status: 204 });
    expect(await source.post(JSON.stringify(ended))).toMatchObject({ status: 202 });
    await until('the first is delivered', () => relay.receiver.ids('/hook').includes(ended.id));
    relay.receiver.plan('/hook', ...Array.from({ length: 9 }, () => ({ status: 500 })), { status: 204 });
    const envelopes = Array.from({ length: 9 }, () => anEnvelope({ type: eventType }));
    for (const envelope of envelopes)
      expect(await source.post(JSON.stringify(envelope))).toMatchObject({ status: 202 });
    const ids = await until('they wait', async () => {
      const found = await inEachShard('delayed');
      return found.length === 9 && found;
    });

    const [without, unlisted, neither] = [ids.slice(0, 2), ids.slice(2, 4), ids.slice(4, 6)];
    const [rest, stalled] = [ids.slice(6, 7), ids.slice(7)];
    const redisOf = (id: string) => relay.stack.shards.of(envelopeIdOf(id)).redis;
    for (const id of [...without, ...neither, ...rest, ...stalled]) await redisOf(id).del(queueKey(id, id));
    for (const id of [...unlisted, ...neither, ...rest, ...stalled])
      await redisOf(id).zrem(queueKey(id, 'delayed'), id);
    // What BullMQ writes of a job that is gone, after which it adds none under its id (taskforcesh/bullmq#1676).
    for (const id of rest) await redisOf(id).hset(queueKey(id, id), 'failedReason', 'Missing key for job');
    // As a worker leaves it that dies.
    for (const id of stalled) await redisOf(id).lpush(queueKey(id, 'active'), id);
    // The id of an ended delivery in a list, as the torn end of an append-only file leaves it.
    const [webhookId = ''] = (ids[0] ?? '').split('_');
    const told = await until('the end of the first is told', async () => {
      const records = await relay.stack.topic('relay.delivery-attempts').read();
      return records
        .map(({ value }) => JSON.parse(value.toString()) as { deliveryId: string; envelopeId: string })
        .find(({ envelopeId }) => envelopeId === ended.id);
    });
    await redisOf(told.deliveryId).lpush(queueKey(told.deliveryId, 'wait'), told.deliveryId);
    await redisOf(told.deliveryId).zadd(queueKey(told.deliveryId, 'marker'), 0, '0');

    const received = () => envelopes.map(({ id }) => relay.receiver.ids('/hook').filter((each) => each === id).length);
    await until('each is attempted again', () => received().every((count) => count === 2), {
      ...TAKEN_BACK,
      seen: () => [received(), relay.worker.log.filter((line) => line.includes('queue.'))],
    });
    const attempts = relay.receiver
      .at('/hook')
      .filter(({ headers }) => headers['webhook-id'] !== ended.id)
      .map(({ headers }) => String(headers['relay-attempt']));
    expect(attempts.toSorted((a, b) => a.localeCompare(b))).toEqual([
      ...Array.from({ length: 9 }, () => '1'),
      ...Array.from({ length: 9 }, () => '2'),
    ]);
    const queued = async () => (await Promise.all((['wait', 'active', 'delayed'] as const).map(inEachShard))).flat();
    await until('nothing waits', async () => (await queued()).length === 0, { seen: queued });
    const waiting = async () =>
      (
        await Promise.all(relay.stack.shards.all.map((shard) => shard.redis.hkeys(shard.key('waiting', webhookId))))
      ).flat();
    await until('nothing counts as waiting', async () => (await waiting()).length === 0, {
      ...TAKEN_BACK,
      seen: waiting,
    });
    expect(relay.receiver.ids('/hook').filter((id) => id === ended.id)).toHaveLength(1);
    expect(received()).toEqual(Array.from({ length: 9 }, () => 2));
  });
});
