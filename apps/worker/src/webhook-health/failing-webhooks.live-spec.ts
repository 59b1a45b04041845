import { NOTICE_LINES } from '@relay/redis';
import { redisOfSpec } from '@relay/testing';
import { FailingWebhooks } from './failing-webhooks.adapter.js';

const { redis } = await redisOfSpec();

describe('failing webhooks, shared by all workers', () => {
  const failing = new FailingWebhooks(redis);

  it('keep the first failure in a row, unless the registration is newer', async () => {
    await failing.begin('w', 100, 1, false);
    await failing.begin('w', 200, 1, false);
    expect(await failing.all()).toEqual(new Map([['w', { since: 100, warned: 0, version: 1 }]]));
    await failing.warned('w', 50, undefined);
    await failing.begin('w', 300, 2, true);
    expect(await failing.all()).toEqual(new Map([['w', { since: 300, warned: 0, version: 2 }]]));
  });

  it('are warned of by one of several workers at once, and never of less than before', async () => {
    await failing.begin('x', 100, 1, false);
    const line = `${Date.now()} {"type":"webhook.failing"}`;
    const [first, ...others] = await Promise.all([50, 50, 50].map((percent) => failing.warned('x', percent, line)));
    expect(await redis.zrange(NOTICE_LINES, '0', '-1')).toEqual([line]);
    expect([first, others]).toEqual([true, [false, false]]);
    expect([await failing.warned('x', 90, undefined), await failing.warned('x', 70, 'never stored')]).toEqual([
      true,
      false,
    ]);
    expect((await failing.all()).get('x')).toMatchObject({ since: 100, warned: 90 });
    await failing.end('x');
    expect((await failing.all()).has('x')).toBe(false);
  });
});
