import { describe, expect, it } from '@jest/globals';
import { Gate } from './concurrency-limiter.js';

const LIMITS = { total: 4, perEndpoint: 2, maxWaitMs: 250 };
const A = 'partner https://a.example';
const B = 'partner https://b.example';
const C = 'partner https://c.example';
const D = 'partner https://d.example';

/** A gate at time 0 to which these were offered, one `endpoint` after the other; the items are numbered from 1. */
function aGate(endpoints: string[], limits = LIMITS) {
  const gate = new Gate<number>(limits);
  const answers = endpoints.map((endpoint, index) => gate.offer(index + 1, endpoint, 0));
  return { gate, answers };
}

describe('Gate.offer', () => {
  it.each([
    ['up to the cap of an endpoint', [A, A, A], ['run', 'run', 'wait']],
    ['another endpoint while one is full', [A, A, A, B], ['run', 'run', 'wait', 'run']],
    ['up to the total', [A, A, B, B, C], ['run', 'run', 'run', 'run', 'wait']],
  ])('lets run %s', (_, endpoints, expected) => {
    expect(aGate(endpoints).answers).toEqual(expected);
  });

  it('counts what runs and what waits', () => {
    const { gate } = aGate([A, A, A, B]);
    expect([gate.running, gate.waiting, gate.size]).toEqual([3, 1, 4]);
  });
});

describe('Gate.release', () => {
  it('starts the next delivery of the same endpoint', () => {
    const { gate } = aGate([A, A, A, A]);
    expect(gate.release(A, 5, 10)).toEqual([3]);
    expect(gate.release(A, 5, 10)).toEqual([4]);
    expect(gate.release(A, 5, 10)).toEqual([]);
    expect([gate.running, gate.waiting]).toEqual([1, 0]);
  });

  it('starts the oldest delivery whose endpoint is below its cap when only the total was reached', () => {
    const { gate } = aGate([A, A, B, B, A, D, C, B]);
    expect(gate.release(B, 5, 10)).toEqual([6]);
    expect(gate.release(A, 5, 10)).toEqual([5]);
    expect(gate.release(A, 5, 10)).toEqual([7]);
    expect(gate.release(C, 5, 10)).toEqual([8]);
  });

  it.each([
    ['was never known', B],
    ['has nothing running', C],
  ])('throws for an endpoint that %s', (_, endpoint) => {
    const { gate } = aGate([A, A, D, D, C]);
    expect(() => gate.release(endpoint, 5, 10)).toThrow(RangeError);
  });
});

describe('Gate.tryTake', () => {
  it('takes a slot like an offer, and never waits', () => {
    const { gate } = aGate([A]);
    expect([gate.tryTake(A, 0), gate.tryTake(A, 0), gate.waiting]).toEqual([true, false, 0]);
    expect([gate.tryTake(B, 0), gate.tryTake(B, 0)]).toEqual([true, true]);
    expect([gate.tryTake(C, 0), gate.running]).toEqual([false, 4]);
    gate.release(A, 5, 10);
    expect(gate.tryTake(C, 10)).toBe(true);
  });

  it('leaves nothing behind when it is refused', () => {
    const { gate } = aGate([A, A, B, B]);
    gate.tryTake(C, 0);
    expect(gate.endpoints).toBe(2);
  });
});

describe('a queued job that found every slot taken', () => {
  const busy = (): Gate<number> => aGate([A, A, B, B, C, C, D, D], { ...LIMITS, owed: 1 } as typeof LIMITS).gate;

  it('has the next one that comes free, before what waits in memory', () => {
    const gate = busy();
    expect(gate.tryTake(D, 10)).toBe(false);
    expect(gate.release(A, 5, 20)).toEqual([]);
    expect(gate.offer(9, D, 20)).toBe('wait');
    expect(gate.tryTake(D, 30)).toBe(true);
    expect(gate.release(A, 5, 40)).toEqual([5]);
  });

  it('keeps none that it does not come back for, and never more than the limit', () => {
    const gate = busy();
    for (let n = 0; n < 3; n += 1) expect(gate.tryTake(D, 10)).toBe(false);
    expect(gate.release(A, 5, 20)).toEqual([]);
    expect(gate.release(A, 5, 20)).toEqual([5]);
    expect(gate.tick(1_009)).toEqual([]);
    expect(gate.tick(1_010)).toEqual([6]);
  });
});

describe('a troubled endpoint that waits for the share of all of them', () => {
  it('is not left behind where another that waited for it has expired', () => {
    const gate = new Gate<string>({ total: 4, perEndpoint: 4, maxWaitMs: 250, troubled: 1 });
    const trouble = (key: string): void => {
      expect(gate.tryTake(key, 0)).toBe(true);
      gate.release(key, 1, 0, 'failed');
    };
    for (const key of [A, B, C]) trouble(key);
    expect(gate.tryTake(A, 0)).toBe(true); // has the share
    expect(gate.offer('b1', B, 0)).toBe('wait');
    expect(gate.offer('c1', C, 100)).toBe('wait');
    expect(gate.expire(250).map(({ item }) => item)).toEqual(['b1']);
    expect(gate.release(A, 300, 300)).toEqual(['c1']);
  });
});

describe('Gate.expire', () => {
  it('gives back what waited for its endpoint for too long, in order, spaced by the backlog', () => {
    const { gate } = aGate([A, A, A, A]);
    expect(gate.nextExpiry).toBe(250);
    expect(gate.expire(249)).toEqual([]);
    // Nothing ended yet: what runs takes 250 ms at least, half of it for each of two slots.
    expect(gate.expire(250)).toEqual([
      { item: 3, endpoint: A, at: 375 },
      { item: 4, endpoint: A, at: 500 },
    ]);
    expect([gate.running, gate.waiting, gate.nextExpiry]).toEqual([2, 0, undefined]);
  });

  it('leaves what came later', () => {
    const { gate } = aGate([A, A, A]);
    gate.offer(4, A, 100);
    expect(gate.expire(250).map(({ item }) => item)).toEqual([3]);
    expect(gate.nextExpiry).toBe(350);
  });

  it('leaves what waits only for the total: that is backpressure', () => {
    const { gate } = aGate([A, A, B, B, C]);
    expect(gate.nextExpiry).toBeUndefined();
    expect(gate.expire(60_000)).toEqual([]);
    expect(gate.release(A, 5, 60_000)).toEqual([5]);
  });

  it('counts only the time with the endpoint full', () => {
    const { gate } = aGate([B, B, B, A, A, A], { ...LIMITS, perEndpoint: 3 });
    gate.offer(7, A, 0);
    gate.release(B, 5, 1_000);
    expect(gate.running).toBe(4);
    gate.release(B, 5, 2_000);
    // Item 6 started at 2,000 and made A full; item 7, which waited from 0 on, has waited for A since then.
    expect(gate.expire(2_249)).toEqual([]);
    expect(gate.expire(2_250).map(({ item }) => item)).toEqual([7]);
  });

  it('goes on counting when a slot passes from one delivery of the endpoint to the next', () => {
    const { gate } = aGate([A, A, A, A]);
    expect(gate.release(A, 200, 200)).toEqual([3]);
    expect(gate.expire(250).map(({ item }) => item)).toEqual([4]);
  });

  it('is due in time for an endpoint that was idle with slots reserved', () => {
    const { gate } = aGate([A, A, A]);
    gate.expire(250);
    gate.release(A, 60_000, 300);
    gate.backlogAt(A, 300);
    gate.release(A, 60_000, 300);
    for (const item of [4, 5, 6]) gate.offer(item, A, 400);
    expect(gate.nextExpiry).toBe(650);
    expect(gate.expire(650).map(({ item }) => item)).toEqual([6]);
  });
});

describe('Gate.backlogAt', () => {
  it('queues behind what is reserved for the endpoint, queued or expired', () => {
    const { gate } = aGate([A, A, A]);
    gate.release(A, 100, 100);
    gate.offer(4, A, 100);
    expect(gate.backlogAt(A, 100)).toBe(150);
    expect(gate.backlogAt(A, 100)).toBe(200);
    expect(gate.expire(350)).toEqual([{ item: 4, endpoint: A, at: 475 }]);
    expect(gate.backlogAt(A, 350)).toBe(600);
  });

  it('spaces the jobs of all endpoints when the worker as a whole is full', () => {
    const { gate } = aGate([A, B, C, D]);
    // A fifth of a second is assumed, a quarter of it for each of four slots.
    expect([gate.backlogAt(A, 0), gate.backlogAt('another', 0)]).toEqual([50, 100]);
    expect(gate.endpoints).toBe(4);
  });

  it('is now when there is a slot', () => {
    expect(aGate([A]).gate.backlogAt(A, 7)).toBe(7);
  });
});

describe('Gate.behind', () => {
  const limits = { total: 10, perEndpoint: 1, maxWaitMs: 250 };

  it('is nothing while the endpoint has a slot or its jobs are due soon', () => {
    const gate = new Gate<string>(limits);
    expect(gate.behind('a', 0)).toBeUndefined();
    gate.offer('1', 'a', 0);
    expect(gate.behind('a', 0)).toBeUndefined();
  });

  it('sends a delivery behind the jobs of a full endpoint that already reach beyond the wait', () => {
    const gate = new Gate<string>(limits);
    gate.offer('1', 'a', 0);
    for (const item of ['2', '3']) gate.offer(item, 'a', 0);
    const expired = gate.expire(250);
    const at = gate.behind('a', 250);
    expect(at).toBeGreaterThan(expired[1]?.at ?? Infinity);
    expect(gate.behind('b', 250)).toBeUndefined();
    expect(gate.waiting).toBe(0);
  });
});

describe('what a gate remembers', () => {
  it('is nothing a minute after nothing runs and nothing waits any more', () => {
    const { gate } = aGate([A, B, C]);
    for (const endpoint of [A, B, C]) gate.release(endpoint, 5, 10);
    for (const now of [20, 2_000]) gate.tick(now);
    gate.expire(60_009);
    expect(gate.endpoints).toBe(3);
    gate.expire(60_010);
    expect(gate.endpoints).toBe(0);
  });
});
