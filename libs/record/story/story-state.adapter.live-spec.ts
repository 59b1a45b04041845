import { randomUUID } from 'node:crypto';
import { RedisRepeatCounts, RedisSeenStore } from '@relay/dedupe';
import { RedisDeliveryHistory, ShardHistory } from '@relay/history';
import { parkingKey, rangesText } from '@relay/progress';
import { shardsOn } from '@relay/redis';
import { BullmqRetryQueue, PendingDeliveries } from '@relay/retry';
import { idsOfEach, redisOfSpec } from '@relay/testing';
import { StoryState } from './story-reader.js';

const { redis } = await redisOfSpec({ maxRetriesPerRequest: null });
const HOUR = 3_600_000;
const HASH = '0123456789abcdef';

describe.each([1, 3])('the state that Redis has of an envelope in one of %i shards', (count) => {
  const shards = shardsOn(redis, count);
  const queue = new BullmqRetryQueue(shards);
  const jobs = new PendingDeliveries(shards, shards);
  const state = new StoryState(redis, shards, jobs, new RedisDeliveryHistory(shards, HOUR));
  const envelopes = idsOfEach(shards, 8);
  const [waits, delivered, parked] = [randomUUID(), randomUUID(), randomUUID()];
  const all = new Set([waits, delivered, parked]);
  const at = { topic: 'task.created', partition: 3 };
  const attempt = { at: 2, durationMs: 3, status: 204 };

  beforeAll(async () => {
    await redis.flushall();
    await new RedisSeenStore(shards, HOUR).markPublished(envelopes.map((id) => ({ id, hash: HASH })));
    const repeats = envelopes.map((id, n) => [id, { duplicates: n + 1, conflicts: 0 }] as const);
    await new RedisRepeatCounts(shards, HOUR).add(new Map(repeats));
    for (const envelopeId of envelopes) {
      const line = { webhookId: delivered, envelopeId, acceptedAt: 1, series: 0, attempts: [attempt] };
      await new ShardHistory(shards.of(envelopeId), HOUR).add([line]);
      const job = {
        v: 1 as const,
        webhookId: waits,
        partnerId: 'p',
        envelopeId,
        eventType: 'task.created',
        hash: HASH,
        series: 0,
        attempts: 1,
        acceptedAt: 1,
        body: '{}',
      };
      await queue.add({ job, at: Date.now() + HOUR });
    }
    // The records of a partition are those of all shards, and each shard has its own ranges of them.
    for (const [number, shard] of shards.all.entries())
      await redis.hset(parkingKey(shard, at), parked, rangesText([{ from: 100 * number, to: 100 * number + 50 }]));
  });
  afterAll(() => Promise.all([queue.close(), jobs.close()]));

  it('is read where it is', async () => {
    for (const [n, id] of envelopes.entries()) {
      expect(await state.mark(id)).toMatchObject({ hash: HASH });
      expect(await state.repeats(id)).toEqual({ duplicates: n + 1, conflicts: 0 });
      expect(await state.delivered(id, all)).toMatchObject([{ webhookId: delivered, attempts: [attempt] }]);
      expect(await state.pending(id, all)).toMatchObject([{ job: { partnerId: 'p' }, dueAt: expect.any(Number) }]);
    }
  });

  it('has the ranges of its own shard alone', async () => {
    for (const envelopeId of envelopes)
      for (const [number, shard] of shards.all.entries()) {
        const found = await state.rangesAt(at, { envelopeId, offset: 100 * number + 20 }, all);
        expect(found.map(({ webhookId }) => webhookId)).toEqual(shards.of(envelopeId) === shard ? [parked] : []);
      }
  });
});
