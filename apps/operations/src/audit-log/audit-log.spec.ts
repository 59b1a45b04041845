import type { OperationsRecord } from '@relay/events';
import { isAsked, pageOf, rangesBefore } from './audit-log.adapter.js';

const found = (...offsets: number[]) =>
  offsets.map((offset) => ({
    partition: 0,
    offset,
    record: { at: new Date(offset).toISOString(), event: 'board.change' } as OperationsRecord,
  }));
const offsetsOf = (records: readonly OperationsRecord[]): number[] => records.map(({ at }) => Date.parse(at));

describe('the ranges of a page', () => {
  it('are the newest 5,000 offsets of all partitions together', () => {
    expect(rangesBefore([{ partition: 0, from: 10, end: 9_000 }], undefined)).toEqual([
      { partition: 0, low: 10, from: 4_000, end: 9_000 },
    ]);
    const two = [0, 1].map((partition) => ({ partition, from: 0, end: 9_000 }));
    expect(rangesBefore(two, '1:600')).toEqual([
      { partition: 0, low: 0, from: 6_500, end: 9_000 },
      { partition: 1, low: 0, from: 0, end: 600 },
    ]);
  });

  it('are empty for what retention has deleted, and end where the log does', () => {
    const kept = [{ partition: 0, from: 50, end: 80 }];
    expect(rangesBefore(kept, '0:20')).toEqual([{ partition: 0, low: 50, from: 50, end: 50 }]);
    expect(rangesBefore(kept, '0:900')).toEqual([{ partition: 0, low: 50, from: 50, end: 80 }]);
  });
});

describe('a page', () => {
  it('leads by `before` through every record once', () => {
    const kept = [{ partition: 0, from: 0, end: 12_000 }];
    const stored = found(3, 700, 701, 6_999, 7_000, 7_001, 11_999);
    const seen: number[] = [];
    let before: string | undefined | null;
    let pages = 0;
    for (; before !== null && pages < 20; pages += 1) {
      const ranges = rangesBefore(kept, before);
      const [range] = ranges;
      const page = pageOf(
        ranges,
        stored.filter(({ offset }) => range !== undefined && offset >= range.from && offset < range.end),
        2,
      );
      seen.push(...offsetsOf(page.records));
      before = page.before;
    }
    expect(seen).toEqual([11_999, 7_001, 7_000, 6_999, 701, 700, 3]);
    expect(pages).toBeLessThan(10);
  });

  it('is of what is asked for', () => {
    const [{ record } = { record: {} as OperationsRecord }] = found(1);
    const of = { ...record, operator: 'o', partnerId: 'p', webhookId: 'w' };
    expect(isAsked(of, { limit: 1, event: 'board.change', operator: 'o', partner: 'p', webhook: 'W' })).toBe(true);
    for (const other of [{ event: 'webhook.failing' as const }, { operator: 'x' }, { partner: 'x' }, { webhook: 'x' }])
      expect(isAsked(of, { limit: 1, ...other })).toBe(false);
    const person = { ...record, operator: 'person:s1 ada@example.com' };
    const asked = ['person:s1', 'person:s1 ada@example.com', 'person:s', 'ada@example.com'];
    expect(asked.map((operator) => isAsked(person, { limit: 1, operator }))).toEqual([true, true, false, false]);
    expect(isAsked({ ...record, webhookIds: ['v', 'w'] }, { limit: 1, webhook: 'W' })).toBe(true);
  });
});
