import { ParkedRanges } from './parked-ranges.js';
import type { ParkedRange } from './parking.js';

const parked = (ranges: Readonly<Record<string, readonly ParkedRange[]>>, dropped: readonly number[] = []) =>
  new ParkedRanges({
    ranges: new Map(Object.entries(ranges)),
    replays: new Map(
      Object.keys(ranges)
        .filter((key) => key.includes('/'))
        .map((key) => [key, { done: 3, failed: 1 }]),
    ),
    dropped,
    next: 1_000,
  });

describe('the ranges of a log that lost its end', () => {
  it('are kept up to its new end, open ones open, and written', () => {
    const ranges = parked({
      open: [{ from: 100 }],
      late: [{ from: 995 }],
      closed: [
        { from: 100, to: 200 },
        { from: 980, to: 1_000 },
      ],
      gone: [{ from: 992, to: 1_000 }],
      'w/1000': [{ from: 0, to: 1_000 }],
      'w/2000': [{ from: 991, to: 1_000 }],
    });
    ranges.cut(990, 980);
    expect(ranges.take(985)).toMatchObject({
      changed: new Map([
        ['open', [{ from: 100 }]],
        ['late', [{ from: 990 }]],
        [
          'closed',
          [
            { from: 100, to: 200 },
            { from: 980, to: 990 },
          ],
        ],
        ['gone', []],
        ['w/1000', [{ from: 0, to: 990 }]],
        ['w/2000', []],
      ]),
      lostFrom: 980,
      next: 990,
    });
  });

  it('hold what is read again below its new end, although it looks like a repeat, and no longer what was dropped', () => {
    const ranges = parked({ w: [{ from: 100 }] }, [150, 985]);
    ranges.cut(990, 980);
    for (const offset of [980, 985, 991]) ranges.drop(offset);
    const range = ranges.catchUp('w');
    expect([100, 150, 980, 985, 991, 992].filter((offset) => range?.begin(offset))).toEqual([100, 980, 985, 992]);
    expect(ranges.take(993)?.dropped).toEqual([991]);
  });
});

describe('the ranges of a log that is gone', () => {
  it('stand for all that was read of the new one, open ones open; replays end, and what waited is told once', () => {
    const ranges = parked(
      {
        open: [{ from: 100 }],
        closed: [
          { from: 100, to: 200 },
          { from: 980, to: 1_000 },
        ],
        'w/1000': [{ from: 500, to: 1_000 }],
      },
      [150],
    );
    ranges.renew(6, 1_000);
    expect(ranges.takeExpired()).toEqual(
      new Map([
        ['open', 900],
        ['closed', 120],
        ['w/1000', 500],
      ]),
    );
    expect(ranges.takeExpired().size).toBe(0);
    // What is read again looks like a repeat.
    ranges.drop(3);
    expect(ranges.take(5)).toMatchObject({
      changed: new Map([
        ['open', [{ from: 0 }]],
        ['closed', [{ from: 0, to: 6 }]],
        ['w/1000', []],
      ]),
      dropped: [],
      lostFrom: 0,
      next: 6,
    });
    expect([0, 3, 150].map((offset) => ranges.catchUp('open')?.begin(offset))).toEqual([true, true, true]);
  });
});

describe('a notice of a parked webhook', () => {
  it('is written with the range, again when that failed, and once', () => {
    const ranges = parked({});
    ranges.park('w', 1_000, 'line of w');
    ranges.park('w', 1_001, 'never: it is parked already');
    ranges.park('silent', 1_001);
    const write = ranges.take(1_002);
    expect([write?.notices, [...(write?.changed.keys() ?? [])]]).toEqual([['line of w'], ['w', 'silent']]);
    if (write !== undefined) ranges.putBack(write);
    expect(ranges.take(1_002)?.notices).toEqual(['line of w']);
    expect(ranges.take(1_002)?.notices).toEqual([]);
  });
});
