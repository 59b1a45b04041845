import { setImmediate as turn } from 'node:timers/promises';
import { ProblemError } from '@relay/problem';
import type { Page } from '@relay/webhooks';
import { PartnerQuota } from '@relay/http';
import { Listings } from './listings.js';

const PAGE: Page = { records: [], read: 0 };

/** Lists that end when they are told to, the oldest first. */
function held() {
  const running: ((page: Page | Error) => void)[] = [];
  const list = (): Promise<Page> =>
    new Promise((resolve, reject) => running.push((page) => (page instanceof Error ? reject(page) : resolve(page))));
  return { running, listings: new Listings({ list }, new PartnerQuota({ name: 'q', points: 9, windowMs: 1_000 })) };
}

describe('lists of one partner', () => {
  it('run two at a time, wait for their turn, and are refused beyond that; another partner waits for none of them', async () => {
    const { running, listings } = held();
    const read = (partner: string): Promise<Page> => listings.read(partner, { limit: 1 });
    const asked = Array.from({ length: 34 }, () => read('p'));
    await turn();
    expect(running).toHaveLength(2);
    const refused = await read('p').catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(ProblemError);
    expect(refused).toMatchObject({ extra: { headers: { 'retry-after': '1' } } });
    const other = read('other');
    await turn();
    expect(running).toHaveLength(3);
    running.pop()?.(PAGE);
    await other;
    let most = 0;
    for (let ended = 0; ended < 34; ended += 1) {
      most = Math.max(most, running.length);
      running.shift()?.(PAGE);
      await turn();
    }
    expect(await Promise.all(asked)).toHaveLength(34);
    expect(most).toBe(2);
  });

  it('give their place on when they fail, and leave nothing behind', async () => {
    const { running, listings } = held();
    const asked = Array.from({ length: 3 }, () => listings.read('p', { limit: 1 }).catch(() => 'failed'));
    await turn();
    for (const _ of asked) {
      running.shift()?.(new Error('Redis is away'));
      await turn();
    }
    expect(await Promise.all(asked)).toEqual(['failed', 'failed', 'failed']);
    const again = [listings.read('p', { limit: 1 }), listings.read('p', { limit: 1 })];
    await turn();
    expect(running).toHaveLength(2);
    for (const end of running) end(PAGE);
    await Promise.all(again);
  });
});
