import { describe, expect, it } from '@jest/globals';
import { ConcurrencyLimiter } from './concurrency-limiter.js';
import { fairLimits, type Place } from './concurrency-limits.js';

const LIMITS = { total: 4, perEndpoint: 2, maxWaitMs: 250 };
const A = { endpoint: 'partner https://a.example', id: 'a' };
const B = { endpoint: 'partner https://b.example', id: 'b' };
const C = { endpoint: 'partner https://c.example', id: 'c' };
const D = { endpoint: 'partner https://d.example', id: 'd' };

/** A limiter at time 0 to which these were offered, one `endpoint` after the other; the items are numbered from 1. */
function aLimiter(endpoints: Place[], limits = LIMITS) {
  const limiter = new ConcurrencyLimiter<number>(limits);
  const answers = endpoints.map((endpoint, index) => limiter.offer(index + 1, endpoint, 0));
  return { limiter, answers };
}

describe('ConcurrencyLimiter.offer', () => {
  it.each([
    ['attempts up to the limit of an endpoint', [A, A, A], ['run', 'run', 'wait']],
    ['an attempt to another endpoint while one is full', [A, A, A, B], ['run', 'run', 'wait', 'run']],
    ['attempts up to the total', [A, A, B, B, C], ['run', 'run', 'run', 'run', 'wait']],
  ])('lets run %s', (_, endpoints, expected) => {
    expect(aLimiter(endpoints).answers).toEqual(expected);
  });

  it('counts running and waiting deliveries', () => {
    const { limiter } = aLimiter([A, A, A, B]);
    expect([limiter.running, limiter.waiting, limiter.size]).toEqual([3, 1, 4]);
  });
});

describe('ConcurrencyLimiter.release', () => {
  it('starts the next delivery of the same endpoint', () => {
    const { limiter } = aLimiter([A, A, A, A]);
    expect(limiter.release(A, 5, 10)).toEqual([3]);
    expect(limiter.release(A, 5, 10)).toEqual([4]);
    expect(limiter.release(A, 5, 10)).toEqual([]);
    expect([limiter.running, limiter.waiting]).toEqual([1, 0]);
  });

  it('starts the oldest delivery whose endpoint is below its limit when only the total was reached', () => {
    const { limiter } = aLimiter([A, A, B, B, A, D, C, B]);
    expect(limiter.release(B, 5, 10)).toEqual([6]);
    expect(limiter.release(A, 5, 10)).toEqual([5]);
    expect(limiter.release(A, 5, 10)).toEqual([7]);
    expect(limiter.release(C, 5, 10)).toEqual([8]);
  });

  it.each([
    ['was never known', B],
    ['has no running attempt', C],
  ])('throws for an endpoint that %s', (_, endpoint) => {
    const { limiter } = aLimiter([A, A, D, D, C]);
    expect(() => limiter.release(endpoint, 5, 10)).toThrow(RangeError);
  });
});

describe('ConcurrencyLimiter.tryTake', () => {
  it('takes a slot like an offer, and never waits', () => {
    const { limiter } = aLimiter([A]);
    expect([limiter.tryTake(A, 0), limiter.tryTake(A, 0), limiter.waiting]).toEqual([true, false, 0]);
    expect([limiter.tryTake(B, 0), limiter.tryTake(B, 0)]).toEqual([true, true]);
    expect([limiter.tryTake(C, 0), limiter.running]).toEqual([false, 4]);
    limiter.release(A, 5, 10);
    expect(limiter.tryTake(C, 10)).toBe(true);
  });

  it('keeps no endpoint of a refused job', () => {
    const { limiter } = aLimiter([A, A, B, B]);
    limiter.tryTake(C, 0);
    expect(limiter.endpoints).toBe(2);
  });
});

describe('a queued job that found every slot taken', () => {
  const busy = (): ConcurrencyLimiter<number> =>
    aLimiter([A, A, B, B, C, C, D, D], { ...LIMITS, reserved: 1 } as typeof LIMITS).limiter;

  it('takes the next free slot, before deliveries that wait in memory', () => {
    const limiter = busy();
    expect(limiter.tryTake(D, 10)).toBe(false);
    expect(limiter.release(A, 5, 20)).toEqual([]);
    expect(limiter.offer(9, D, 20)).toBe('wait');
    expect(limiter.tryTake(D, 30)).toBe(true);
    expect(limiter.release(A, 5, 40)).toEqual([5]);
  });

  it('loses its reservation after a second, and never reserves more than the maximum', () => {
    const limiter = busy();
    for (let n = 0; n < 3; n += 1) expect(limiter.tryTake(D, 10)).toBe(false);
    expect(limiter.release(A, 5, 20)).toEqual([]);
    expect(limiter.release(A, 5, 20)).toEqual([5]);
    expect(limiter.tick(1_009)).toEqual([]);
    expect(limiter.tick(1_010)).toEqual([6]);
  });
});

describe('slow webhooks of several partners', () => {
  const slow = (partner: string, n: number): Place => ({
    endpoint: `${partner} https://${n % 10}.example`,
    id: `${n}`,
  });
  const fill = (limiter: ConcurrencyLimiter<string>, partner: string, now: number): number => {
    let started = 0;
    for (let n = 0; n < 2_000; n += 1) if (limiter.offer(partner, slow(partner, n % 200), now) === 'run') started += 1;
    return started;
  };
  const areSlow = (limiter: ConcurrencyLimiter<string>, partner: string): void => {
    for (let n = 0; n < 200; n += 1) {
      limiter.offer(partner, slow(partner, n), 0);
      limiter.release(slow(partner, n), 5, 0, 'failed');
    }
  };

  it('have parts: each partner leaves as much as it may have, however many webhooks and deliveries it has', () => {
    const limiter = new ConcurrencyLimiter<string>(fairLimits(512, 64));
    for (const partner of ['one', 'two', 'three']) areSlow(limiter, partner);
    expect(['one', 'two', 'three'].map((partner) => fill(limiter, partner, 0))).toEqual([64, 42, 32]);
    // Who has more than its part, now that there are three, gets no further slot; who waits longest in a round of partners does.
    const next = Array.from({ length: 32 }, (_, n) => limiter.release(slow('one', n), 14_000, 14_000));
    expect(new Set(next.flat())).toEqual(new Set());
    expect(limiter.release(slow('three', 0), 14_000, 14_000)).toEqual(['three']);
  });

  it('find a slot while attempts of another partner, which began before they were known to be slow, hold the share', () => {
    const limiter = new ConcurrencyLimiter<string>(fairLimits(512, 64));
    areSlow(limiter, 'victim');
    for (let n = 0; n < 256; n += 1) limiter.offer('flood', slow('flood', n), 0);
    for (let now = 0; now <= 3_000; now += ConcurrencyLimiter.beatMs) limiter.tick(now);
    expect(limiter.runningTroubled).toBeGreaterThan(128);
    expect(limiter.offer('victim', slow('victim', 1), 3_000)).toBe('run');
  });
});

describe('a troubled endpoint that waits for the share of all of them', () => {
  it('starts although the endpoint before it has expired', () => {
    const limiter = new ConcurrencyLimiter<string>({ total: 4, perEndpoint: 4, maxWaitMs: 250, troubled: 1 });
    const trouble = (key: Place): void => {
      expect(limiter.tryTake(key, 0)).toBe(true);
      limiter.release(key, 1, 0, 'failed');
    };
    for (const key of [A, B, C]) trouble(key);
    expect(limiter.tryTake(A, 0)).toBe(true); // has the share
    expect(limiter.offer('b1', B, 0)).toBe('wait');
    expect(limiter.offer('c1', C, 100)).toBe('wait');
    expect(limiter.expire(250).map(({ item }) => item)).toEqual(['b1']);
    expect(limiter.release(A, 300, 300)).toEqual(['c1']);
  });
});

describe('ConcurrencyLimiter.expire', () => {
  it('returns deliveries that waited too long for their endpoint, in order, spaced by its schedule', () => {
    const { limiter } = aLimiter([A, A, A, A]);
    expect(limiter.nextExpiry).toBe(250);
    expect(limiter.expire(249)).toEqual([]);
    // Nothing ended yet: what runs takes 250 ms at least, half of it for each of two slots.
    expect(limiter.expire(250)).toEqual([
      { item: 3, at: 375 },
      { item: 4, at: 500 },
    ]);
    expect([limiter.running, limiter.waiting, limiter.nextExpiry]).toEqual([2, 0, undefined]);
  });

  it('leaves later deliveries', () => {
    const { limiter } = aLimiter([A, A, A]);
    limiter.offer(4, A, 100);
    expect(limiter.expire(250).map(({ item }) => item)).toEqual([3]);
    expect(limiter.nextExpiry).toBe(350);
  });

  it('leaves deliveries that wait for the total only: that is backpressure', () => {
    const { limiter } = aLimiter([A, A, B, B, C]);
    expect(limiter.nextExpiry).toBeUndefined();
    expect(limiter.expire(60_000)).toEqual([]);
    expect(limiter.release(A, 5, 60_000)).toEqual([5]);
  });

  describe('while the worker is busy', () => {
    /** The first attempt ends after 300 ms, in which the clock had a beat so often. */
    const released = (limiter: ConcurrencyLimiter<number>, beatMs: number): number[] => {
      for (let at = beatMs; at <= 300; at += beatMs) limiter.tick(at);
      return limiter.release(A, 300, 300);
    };

    it('counts no time for which the worker stood still against an endpoint', () => {
      const { limiter } = aLimiter([A, A, A, A]);
      released(limiter, 100);
      expect(limiter.expire(600, true)).toEqual([]);
    });

    it('leaves deliveries that wait for a quick endpoint, and looks again soon', () => {
      const { limiter } = aLimiter([A, A, A, A]);
      limiter.release(A, 200, 200);
      expect(limiter.expire(250, true)).toEqual([]);
      expect(limiter.nextExpiry).toBe(300);
      expect(limiter.expire(299, false)).toEqual([]);
      expect(limiter.expire(300, false).map(({ item }) => item)).toEqual([4]);
    });

    it.each([
      ['has not answered yet', () => undefined],
      ['takes longer than a delivery may wait', (limiter: ConcurrencyLimiter<number>) => released(limiter, 50)],
      ['fails', (limiter: ConcurrencyLimiter<number>) => limiter.release(A, 5, 5, 'failed')],
    ])('returns those that wait for an endpoint that %s', (_, ends) => {
      const { limiter } = aLimiter([A, A, A, A]);
      ends(limiter);
      expect(limiter.waiting).toBeGreaterThan(0);
      expect(limiter.expire(600, true).at(-1)?.item).toBe(4);
      expect(limiter.waiting).toBe(0);
    });
  });

  it('counts only the time for which the endpoint is full', () => {
    const { limiter } = aLimiter([B, B, B, A, A, A], { ...LIMITS, perEndpoint: 3 });
    limiter.offer(7, A, 0);
    limiter.release(B, 5, 1_000);
    expect(limiter.running).toBe(4);
    limiter.release(B, 5, 2_000);
    // Item 6 started at 2,000 and made A full; item 7, which waited from 0 on, has waited for A since then.
    expect(limiter.expire(2_249)).toEqual([]);
    expect(limiter.expire(2_250).map(({ item }) => item)).toEqual([7]);
  });

  it('goes on counting when a slot passes from one delivery of the endpoint to the next', () => {
    const { limiter } = aLimiter([A, A, A, A]);
    expect(limiter.release(A, 200, 200)).toEqual([3]);
    expect(limiter.expire(250).map(({ item }) => item)).toEqual([4]);
  });

  it('is due in time for an endpoint that was idle with slots reserved', () => {
    const { limiter } = aLimiter([A, A, A]);
    limiter.expire(250);
    limiter.release(A, 60_000, 300);
    limiter.nextSlotAt(A, 300);
    limiter.release(A, 60_000, 300);
    for (const item of [4, 5, 6]) limiter.offer(item, A, 400);
    expect(limiter.nextExpiry).toBe(650);
    expect(limiter.expire(650).map(({ item }) => item)).toEqual([6]);
  });
});

describe('ConcurrencyLimiter.nextSlotAt', () => {
  it('queues behind the reservations of the endpoint, for queued and expired deliveries', () => {
    const { limiter } = aLimiter([A, A, A]);
    limiter.release(A, 100, 100);
    limiter.offer(4, A, 100);
    expect(limiter.nextSlotAt(A, 100)).toBe(150);
    expect(limiter.nextSlotAt(A, 100)).toBe(200);
    expect(limiter.expire(350)).toEqual([{ item: 4, at: 475 }]);
    expect(limiter.nextSlotAt(A, 350)).toBe(600);
  });

  it('spaces the jobs of all endpoints when the worker as a whole is full', () => {
    const { limiter } = aLimiter([A, B, C, D]);
    // A fifth of a second is assumed, a quarter of it for each of four slots.
    expect([limiter.nextSlotAt(A, 0), limiter.nextSlotAt({ endpoint: 'another', id: 'e' }, 0)]).toEqual([50, 100]);
    expect(limiter.endpoints).toBe(4);
  });

  it('is now when there is a slot', () => {
    expect(aLimiter([A]).limiter.nextSlotAt(A, 7)).toBe(7);
  });
});

describe('ConcurrencyLimiter.slotBehindJobs', () => {
  const limits = { total: 10, perEndpoint: 1, maxWaitMs: 250 };

  it('is undefined while the endpoint has a slot or its jobs are due soon', () => {
    const limiter = new ConcurrencyLimiter<string>(limits);
    expect(limiter.slotBehindJobs(A, 0)).toBeUndefined();
    limiter.offer('1', A, 0);
    expect(limiter.slotBehindJobs(A, 0)).toBeUndefined();
  });

  it('sends a delivery behind the jobs of a full endpoint that already reach beyond the wait', () => {
    const limiter = new ConcurrencyLimiter<string>(limits);
    limiter.offer('1', A, 0);
    for (const item of ['2', '3']) limiter.offer(item, A, 0);
    const expired = limiter.expire(250);
    const at = limiter.slotBehindJobs(A, 250);
    expect(at).toBeGreaterThan(expired[1]?.at ?? Infinity);
    expect(limiter.slotBehindJobs(B, 250)).toBeUndefined();
    expect(limiter.waiting).toBe(0);
  });
});

describe('the known endpoints of a limiter', () => {
  it('are empty a minute after the last attempt and the last waiting delivery', () => {
    const { limiter } = aLimiter([A, B, C]);
    for (const endpoint of [A, B, C]) limiter.release(endpoint, 5, 10);
    for (const now of [20, 2_000]) limiter.tick(now);
    limiter.expire(60_009);
    expect(limiter.endpoints).toBe(3);
    limiter.expire(60_010);
    expect(limiter.endpoints).toBe(0);
  });
});
