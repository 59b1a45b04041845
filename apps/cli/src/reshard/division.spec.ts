import { differenceOf, Division, intersectionOf, unionOf } from './division.js';

const AT = { topic: 'task.created', partition: 0 };
const whole = [{ from: 0, to: 100 }];

describe('ranges', () => {
  it('are joined if they meet, in order, with an open one last', () => {
    expect(unionOf([{ from: 40 }, { from: 5, to: 7 }, { from: 7, to: 9 }, { from: 20, to: 50 }])).toEqual([
      { from: 5, to: 9 },
      { from: 20, to: undefined },
    ]);
  });

  it('are cut at others', () => {
    expect(intersectionOf([{ from: 10 }], [{ from: 5, to: 12 }, { from: 20 }])).toEqual([
      { from: 10, to: 12 },
      { from: 20 },
    ]);
    expect(differenceOf([{ from: 10 }], [{ from: 5, to: 12 }, { from: 20 }])).toEqual([{ from: 12, to: 20 }]);
    expect(differenceOf(whole, [])).toEqual(whole);
  });
});

describe('a division', () => {
  it('asks for no record if the old shards agree, and gives all new ones the same', () => {
    const division = new Division(AT, 50, 2);
    division.add('w', [[{ from: 3 }], [{ from: 3 }]]);
    expect([division.disputed, division.of('w')]).toEqual([undefined, [[{ from: 3 }], [{ from: 3 }]]]);
  });

  it('takes the union if a worker has to go through too many ranges otherwise', () => {
    const division = new Division(AT, 5_000, 1);
    division.add('w', [[{ from: 0, to: 5_000 }], []]);
    expect(division.disputed).toEqual({ from: 0, end: 5_000 });
    for (let offset = 0; offset < 5_000; offset += 1) division.take(offset, [offset % 2, 0]);
    expect(division.of('w')).toEqual([[{ from: 0, to: 5_000 }]]);
  });

  it('counts a webhook whose records are gone', () => {
    const division = new Division(AT, 50, 2);
    division.add('w', [[{ from: 3, to: 5 }], []]);
    division.add('other', [[{ from: 3, to: 5 }], []]);
    division.take(4, [1, 0]);
    expect(division.vanished).toBe(2);
    const kept = new Division(AT, 50, 2);
    kept.add('w', [[{ from: 3, to: 9 }], []]);
    kept.take(4, [0, 1]);
    kept.take(5, [1, 0]);
    kept.take(6, [1, 1]);
    kept.take(7, [0, 1]);
    expect([kept.vanished, kept.of('w')]).toEqual([
      0,
      [
        [],
        [
          { from: 4, to: 5 },
          { from: 7, to: 8 },
        ],
      ],
    ]);
  });
});
