import { shardsOn } from '@relay/redis';
import { redisOfSpec } from '@relay/testing';
import { isParked, parkedKey, parkedWebhooks, withShownStatus } from './progress-keys.js';

const { redis } = await redisOfSpec();

describe.each([1, 3])('a parked webhook of %i shards', (count) => {
  const shards = shardsOn(redis, count);
  const last = shards.all[count - 1]!;
  beforeEach(async () => {
    await redis.flushall();
    for (const shard of [shards.all[0]!, last]) await redis.sadd(parkedKey(shard), 'everywhere');
    await redis.sadd(parkedKey(last), 'once');
    await redis.hset(parkedKey(last, 'once'), 'task.created/0', '5-');
  });

  it('is parked where a shard has a range of it, and counts once', async () => {
    expect(await parkedWebhooks(shards)).toEqual(new Set(['everywhere', 'once']));
    expect([await isParked(shards, 'once'), await isParked(shards, 'never')]).toEqual([true, false]);
  });

  it('is shown as parked unless it is disabled', async () => {
    const webhooks = [
      { id: 'once', status: 'active' as const },
      { id: 'everywhere', status: 'disabled' as const },
      { id: 'never', status: 'active' as const },
    ];
    const shown = await withShownStatus(shards, webhooks);
    expect(shown.map(({ status }) => status)).toEqual(['parked', 'disabled', 'active']);
  });
});
