import type { ParkedRange } from './parking.js';

export const isInside = ({ from, to = Infinity }: ParkedRange, offset: number): boolean =>
  from <= offset && offset < to;

/** Returns the part of a range within a log that ends at `end`. An open range stays open: its webhook is still parked. */
export function cutAt(end: number, { from, to }: ParkedRange): ParkedRange[] {
  if (to === undefined) return [{ from: Math.min(from, end) }];
  return from < end ? [{ from, to: Math.min(to, end) }] : [];
}

/**
 * Returns the range that replaces ranges of a log that is gone: all of the new log up to `end`, or open if one of them was open.
 */
export function renewed(end: number, ranges: readonly ParkedRange[]): ParkedRange[] {
  if (ranges.some(({ to }) => to === undefined)) return [{ from: 0 }];
  return end > 0 && ranges.length > 0 ? [{ from: 0, to: end }] : [];
}

/** Returns the first ranges without the offsets of the others. */
export const without = (ranges: readonly ParkedRange[], others: readonly ParkedRange[]): readonly ParkedRange[] =>
  others.reduce<readonly ParkedRange[]>(
    (left, other) =>
      left.flatMap(({ from, to = Infinity }) =>
        [
          { from, to: Math.min(to, other.from) },
          { from: Math.max(from, other.to ?? Infinity), to },
        ].filter((part) => part.from < part.to),
      ),
    ranges,
  );

/** Counts the offsets in ranges, of which the first is caught up to the cursor. @param next the end of an open range */
export const offsetsIn = (ranges: readonly ParkedRange[], cursor: number, next: number): number =>
  ranges.reduce(
    (sum, { from, to = next }, index) => sum + Math.max(0, to - (index === 0 ? Math.max(from, cursor) : from)),
    0,
  );
