import { describe, expect, it } from '@jest/globals';
import { ConcurrencyLimiter } from './concurrency-limiter.js';
import type { Place, SlotUse } from './concurrency-limits.js';

const LIMITS = { total: 512, perEndpoint: 64, maxWaitMs: 250 };
const webhook = (id: string): Place => ({ endpoint: 'p https://a.example', id });
const [BAD, WELL] = [webhook('bad'), webhook('well')];

/** A limiter of whose endpoint the cap has grown to this. */
function aLimiter(cap: number): ConcurrencyLimiter<string> {
  const limiter = new ConcurrencyLimiter<string>(LIMITS);
  for (let n = 8; n < cap; n += 1) end(limiter, WELL);
  return limiter;
}
function end(limiter: ConcurrencyLimiter<string>, place: Place, use: SlotUse = 'succeeded', durationMs = 5): void {
  limiter.tryTake(place, 0);
  limiter.release(place, durationMs, 0, use);
}
const capOf = (limiter: ConcurrencyLimiter<string>): number => limiter.stateOf(WELL).endpoint.cap.value;
const offer = (limiter: ConcurrencyLimiter<string>, place: Place, count: number, now = 0): number =>
  Array.from({ length: count }, () => limiter.offer(place.id, place, now)).filter((answer) => answer === 'run').length;
const beats = (limiter: ConcurrencyLimiter<string>, from: number, to: number): string[] => {
  const started: string[] = [];
  for (let now = from; now <= to; now += ConcurrencyLimiter.beatMs) started.push(...limiter.tick(now));
  return started;
};

describe('the cap of an endpoint', () => {
  it.each<[string, SlotUse, number]>([
    ['does not shrink by answers of one webhook that are failures', 'failed', 32],
    ['shrinks by failures that are of the origin', 'unreached', 1],
  ])('%s', (_, use, expected) => {
    const limiter = aLimiter(32);
    for (let n = 0; n < 20; n += 1) end(limiter, BAD, use);
    expect([capOf(limiter), limiter.stateOf(BAD).limit]).toEqual([expected, 1]);
  });

  it('does not shrink by a slow webhook, which is held to 8 itself', () => {
    const limiter = aLimiter(32);
    offer(limiter, BAD, 1);
    beats(limiter, 0, 3_000);
    limiter.release(BAD, 3_000, 3_000);
    expect([capOf(limiter), limiter.stateOf(BAD)]).toMatchObject([32, { limit: 8, isTroubled: true }]);
  });

  it('is all for one webhook that has no sibling', () => {
    expect(offer(aLimiter(8), webhook('alone'), 20)).toBe(8);
  });
});

describe('webhooks of one endpoint', () => {
  it('have a quarter of the cap left by one that floods', () => {
    const limiter = aLimiter(64);
    for (let n = 0; n < 56; n += 1) end(limiter, BAD);
    expect([offer(limiter, WELL, 1), offer(limiter, BAD, 100), offer(limiter, WELL, 100)]).toEqual([1, 47, 16]);
  });

  it('get slots in a round, and one that floods its part and no more', () => {
    const limiter = aLimiter(8);
    offer(limiter, BAD, 100);
    for (const id of ['1', '2']) offer(limiter, webhook(id), 3);
    const started = Array.from({ length: 7 }, () => limiter.release(BAD, 5, 10, 'unused'));
    expect(started).toEqual([['1'], ['2'], ['1'], ['2'], [], [], ['bad']]);
  });

  it('take their slots beside one that hangs, as soon as it is found slow', () => {
    const limiter = aLimiter(8);
    expect([offer(limiter, BAD, 8, 0), offer(limiter, WELL, 1, 0)]).toEqual([8, 0]);
    expect(beats(limiter, 0, 1_100)).toEqual(['well']);
    expect(offer(limiter, WELL, 10, 1_100)).toBe(3); // half of the cap: a quarter hangs, a quarter is left free
    expect(offer(limiter, BAD, 1, 1_100)).toBe(0);
  });

  it('have no more than 8 slots or a quarter together while several are slow', () => {
    const limiter = aLimiter(48);
    const slow = Array.from({ length: 12 }, (_, n) => webhook(`slow ${n}`));
    for (const each of slow) offer(limiter, each, 1);
    beats(limiter, 0, 1_100);
    for (const each of slow) offer(limiter, each, 5, 1_100);
    expect(limiter.stateOf(WELL).endpoint).toMatchObject({ troubled: 12, running: 12 });
    expect(offer(limiter, WELL, 100, 1_100)).toBe(24);
  });
});

describe('an endpoint whose cap shrank to one', () => {
  it('has a slot for a webhook that works while an attempt of another hangs', () => {
    const limiter = aLimiter(8);
    for (let n = 0; n < 20; n += 1) end(limiter, BAD, 'unreached');
    expect([offer(limiter, BAD, 5), offer(limiter, WELL, 5), capOf(limiter)]).toEqual([1, 1, 1]);
  });
});

describe('webhooks whose breakers are open', () => {
  const open = (count: number): Place[] => Array.from({ length: count }, (_, n) => webhook(`open ${n}`));
  const tryAll = (limiter: ConcurrencyLimiter<string>, places: readonly Place[], now: number): Place[] =>
    places.filter((each) => limiter.tryTake(each, now, true) || limiter.nextSlotAt(each, now) < now);

  it('have a quarter of the cap together', () => {
    const limiter = aLimiter(16);
    expect(tryAll(limiter, open(10), 0)).toHaveLength(4);
    expect(limiter.stateOf(WELL).endpoint).toMatchObject({ open: 4, running: 4 });
    expect(limiter.stateOf(WELL).isFull).toBe(false);
  });

  it('come in the order in which they were refused, one that comes too late behind the others', () => {
    const limiter = aLimiter(8);
    const [first, second, third, fourth, late] = open(5) as [Place, Place, Place, Place, Place];
    expect(tryAll(limiter, [first, second, late, third, fourth], 0)).toEqual([first, second]);
    limiter.release(first, 500, 500, 'failed');
    // A slot is free, for which those who were refused before may still come.
    expect(limiter.tryTake(fourth, 500, true)).toBe(false);
    expect(limiter.tryTake(third, 1_150, true)).toBe(true);
    limiter.release(second, 1_150, 1_150, 'failed');
    expect(limiter.tryTake(first, 1_160, true)).toBe(false);
    expect(limiter.tryTake(fourth, 1_160, true)).toBe(true);
  });

  it('come back soon once their time has come, and their other jobs later', () => {
    const limiter = aLimiter(8);
    const places = open(20);
    tryAll(limiter, places, 0);
    const [third] = places.slice(2) as [Place];
    const refused = (place: Place, now: number): number => {
      expect(limiter.tryTake(place, now, true)).toBe(false);
      return limiter.nextSlotAt(place, now);
    };
    expect(refused(third, 50)).toBeGreaterThanOrEqual(100);
    // At its time, 100, both slots are still taken: it does not go behind the seventeen others.
    expect(refused(third, 100)).toBe(200);
    expect(refused(third, 150)).toBeGreaterThan(200);
    limiter.release(places[0] as Place, 200, 200, 'failed');
    expect(limiter.tryTake(places[3] as Place, 200, true)).toBe(false);
    expect(limiter.tryTake(third, 200, true)).toBe(true);
  });

  it('remember their place although they have had no slot for long', () => {
    const limiter = aLimiter(8);
    const [one, two, three] = open(3) as [Place, Place, Place];
    tryAll(limiter, [one, two], 0);
    expect(limiter.tryTake(three, 0, true)).toBe(false);
    expect(limiter.nextSlotAt(three, 0)).toBeGreaterThan(0);
    expect(limiter.tryTake(three, 100_000, true)).toBe(false);
    expect(limiter.nextSlotAt(three, 100_000)).toBeGreaterThan(100_000);
  });
});
