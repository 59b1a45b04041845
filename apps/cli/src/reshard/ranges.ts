import type { ParkedRange } from '@relay/progress';

/** The offsets of all of these ranges, in ascending order. At most the last range is open. */
export function unionOf(ranges: readonly ParkedRange[]): ParkedRange[] {
  const union: { from: number; to?: number | undefined }[] = [];
  for (const { from, to } of ranges.toSorted((one, other) => one.from - other.from)) {
    const last = union.at(-1);
    if (last === undefined || endOf(last) < from) union.push({ from, to });
    else if (endOf({ from, to }) > endOf(last)) last.to = to;
  }
  return union;
}

/** The offsets that are in both. */
export function intersectionOf(some: readonly ParkedRange[], others: readonly ParkedRange[]): ParkedRange[] {
  const both = some.flatMap((one) =>
    others.map((other) => rangeOf(Math.max(one.from, other.from), Math.min(endOf(one), endOf(other)))),
  );
  return unionOf(both.filter((range) => range.from < endOf(range)));
}

/** The offsets of the first that are not in the second. */
export function differenceOf(all: readonly ParkedRange[], without: readonly ParkedRange[]): ParkedRange[] {
  const kept: ParkedRange[] = [];
  let from = 0;
  for (const range of unionOf(without)) {
    if (range.from > from) kept.push(rangeOf(from, range.from));
    from = endOf(range);
  }
  if (from < Infinity) kept.push(rangeOf(from, Infinity));
  return intersectionOf(all, kept);
}

export const isIn = (ranges: readonly ParkedRange[], offset: number): boolean =>
  ranges.some((range) => offset >= range.from && offset < endOf(range));

/** Infinity for an open range. */
export const endOf = ({ to }: ParkedRange): number => to ?? Infinity;

/** @param to Infinity for an open range */
export const rangeOf = (from: number, to: number): ParkedRange => (to === Infinity ? { from } : { from, to });
