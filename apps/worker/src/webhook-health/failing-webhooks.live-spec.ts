import { redisOfSpec } from '@relay/testing';
import { FailingWebhooks } from './failing-webhooks.adapter.js';

const { redis } = await redisOfSpec();

describe('failing webhooks, shared by all workers', () => {
  const failing = new FailingWebhooks(redis);

  it('keep the first failure in a row, unless the registration is newer', async () => {
    await failing.begin('w', 100, 1, false);
    await failing.begin('w', 200, 1, false);
    expect(await failing.all()).toEqual(new Map([['w', { since: 100, warned: 0, version: 1 }]]));
    await failing.warned('w', 50);
    await failing.begin('w', 300, 2, true);
    expect(await failing.all()).toEqual(new Map([['w', { since: 300, warned: 0, version: 2 }]]));
  });

  it('are warned of by one of several workers at once, and never of less than before', async () => {
    await failing.begin('x', 100, 1, false);
    const [first, ...others] = await Promise.all([50, 50, 50].map((percent) => failing.warned('x', percent)));
    expect([first, others]).toEqual([true, [false, false]]);
    expect([await failing.warned('x', 90), await failing.warned('x', 70)]).toEqual([true, false]);
    expect((await failing.all()).get('x')).toMatchObject({ since: 100, warned: 90 });
    await failing.end('x');
    expect((await failing.all()).has('x')).toBe(false);
  });
});
