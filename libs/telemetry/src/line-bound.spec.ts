import * as fc from 'fast-check';
import { LineBound } from './line-bound.js';

const lines = (bound: LineBound, count: number, now: number, isError = false): number =>
  Array.from({ length: count }, () => bound.spend('queue.fault', isError, now)).filter(Boolean).length;

describe('LineBound', () => {
  it('allows the lines of a start, and of a storm 40 and then 39 a second', () => {
    const bound = new LineBound();
    expect([lines(bound, 65_826, 0), lines(bound, 65_826, 1_000), lines(bound, 10, 1_001)]).toEqual([40, 39, 0]);
    expect(bound.leftOut()).toEqual(new Map([['queue.fault', 65_826 - 40 + 65_826 - 39 + 10]]));
    expect(bound.leftOut()).toEqual(new Map());
  });

  it('reserves lines for errors among warnings', () => {
    const bound = new LineBound();
    lines(bound, 1_000, 0);
    expect(lines(bound, 100, 0, true)).toBe(10);
  });

  it('never allows more than 99 lines in any second', () => {
    const event = fc.record({ after: fc.integer({ min: 0, max: 400 }), count: fc.integer({ min: 1, max: 200 }) });
    fc.assert(
      fc.property(fc.array(event, { maxLength: 60 }), fc.boolean(), (events, isError) => {
        const bound = new LineBound();
        const written: number[] = [];
        let now = 0;
        for (const { after, count } of events) {
          now += after;
          for (let n = lines(bound, count, now, isError); n > 0; n -= 1) written.push(now);
        }
        // The hundredth after any of them comes a second later at the earliest.
        const within = written.filter((at, n) => (written[n + 99] ?? Infinity) < at + 1_000);
        expect(within).toEqual([]);
      }),
    );
  });
});
