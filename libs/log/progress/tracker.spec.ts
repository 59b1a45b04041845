import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { Tracker } from './tracker.js';

describe('Tracker', () => {
  it('starts with every offset below its start settled', () => {
    const tracker = new Tracker(7);
    expect([tracker.highWater, tracker.next, tracker.running]).toEqual([7, 7, 0]);
    expect(tracker.accept(6)).toBe(false);
    expect(tracker.accept(7)).toBe(true);
  });

  it.each([
    { settled: [], highWater: 0 },
    { settled: [1, 2], highWater: 0 },
    { settled: [0], highWater: 1 },
    { settled: [1, 0], highWater: 2 },
    { settled: [3, 0], highWater: 1 },
    { settled: [3, 2, 1, 0], highWater: 4 },
  ])('has its high water at $highWater after $settled of 0..3 are settled', ({ settled, highWater }) => {
    const tracker = new Tracker(0);
    for (const offset of [0, 1, 2, 3]) tracker.accept(offset);
    for (const offset of settled) tracker.settle(offset);
    expect(tracker.highWater).toBe(highWater);
    expect(tracker.running).toBe(4 - settled.length);
  });

  it('refuses an offset it knows, running or settled', () => {
    const tracker = new Tracker(0);
    tracker.accept(0);
    tracker.accept(1);
    tracker.settle(0);
    expect(tracker.accept(0)).toBe(false);
    expect(tracker.accept(1)).toBe(false);
    expect(tracker.running).toBe(1);
  });

  it('counts offsets that the log skipped as settled', () => {
    const tracker = new Tracker(0);
    tracker.accept(0);
    expect(tracker.accept(5)).toBe(true);
    expect(tracker.accept(3)).toBe(false);
    tracker.settle(0);
    expect(tracker.highWater).toBe(5);
    tracker.settle(5);
    expect(tracker.highWater).toBe(6);
  });

  it.each([
    ['never taken up', (tracker: Tracker) => tracker.settle(9)],
    ['skipped by the log', (tracker: Tracker) => tracker.settle(2)],
    [
      'settled before',
      (tracker: Tracker) => {
        tracker.settle(0);
        tracker.settle(0);
      },
    ],
  ])('throws when an offset is settled that was %s', (_, act) => {
    const tracker = new Tracker(0);
    tracker.accept(0);
    tracker.accept(3);
    expect(() => act(tracker)).toThrow(RangeError);
  });

  it.each([-1, 0.5, Number.NaN, 2 ** 53])('throws for %p, which is no offset', (value) => {
    expect(() => new Tracker(value)).toThrow(RangeError);
    expect(() => new Tracker(0).accept(value)).toThrow(RangeError);
  });

  it('agrees with a model through random histories', () => {
    const anyStep = fc.oneof(
      {
        weight: 3,
        arbitrary: fc.record({ kind: fc.constant('accept' as const), gap: fc.integer({ min: -3, max: 2 }) }),
      },
      { weight: 3, arbitrary: fc.record({ kind: fc.constant('settle' as const), pick: fc.nat(1_000) }) },
      { weight: 1, arbitrary: fc.constant({ kind: 'settle all' as const }) },
    );
    fc.assert(
      fc.property(fc.nat(1_000), fc.array(anyStep, { maxLength: 200 }), (start, steps) => {
        const tracker = new Tracker(start);
        const running = new Set<number>();
        let next = start;
        let highest = start;
        const answered: [accepted: boolean, isNew: boolean][] = [];
        const settle = (offset: number) => {
          running.delete(offset);
          tracker.settle(offset);
        };
        for (const step of steps) {
          if (step.kind === 'accept') {
            const offset = Math.max(0, next + step.gap);
            answered.push([tracker.accept(offset), offset >= next]);
            if (offset >= next) {
              running.add(offset);
              next = offset + 1;
            }
          } else if (step.kind === 'settle') {
            const offset = [...running][step.pick % Math.max(1, running.size)];
            if (offset !== undefined) settle(offset);
          } else {
            for (const offset of [...running].toReversed()) settle(offset);
          }
          expect(tracker.highWater).toBe(Math.min(next, ...running));
          expect(tracker.highWater).toBeGreaterThanOrEqual(highest);
          expect(tracker.next).toBe(next);
          expect(tracker.running).toBe(running.size);
          highest = tracker.highWater;
        }
        expect(answered.filter(([accepted, isNew]) => accepted !== isNew)).toEqual([]);
      }),
    );
  });

  it.each([
    ['in order', (i: number) => i],
    ['in reverse', (i: number) => 99_999 - i],
    ['out of order', (i: number) => (i * 7_919) % 100_000],
  ])('stays cheap while 100,000 offsets settle %s', (_, order) => {
    const tracker = new Tracker(0);
    for (let i = 0; i < 100_000; i += 1) tracker.accept(i);
    const before = process.cpuUsage();
    let seen = 0;
    for (let i = 0; i < 100_000; i += 1) {
      tracker.settle(order(i));
      seen = tracker.highWater;
    }
    const { user } = process.cpuUsage(before);
    expect(seen).toBe(100_000);
    // 15 ms here; a Set's first element takes 1,000 ms for the first row. Processor time, so a busy machine does not count.
    expect(user / 1_000).toBeLessThan(400);
  });

  it('knows how far the log holds no record behind the last one, without moving the next offset', () => {
    const tracker = new Tracker(10);
    tracker.foundEmpty(12, 20);
    expect(tracker.emptyTo).toBe(10);
    tracker.foundEmpty(9, 11);
    tracker.foundEmpty(11, 12);
    expect([tracker.emptyTo, tracker.next, tracker.highWater]).toEqual([12, 10, 10]);
    tracker.accept(15);
    expect(tracker.emptyTo).toBe(16);
  });
});
