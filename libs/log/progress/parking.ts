/** Offsets `[from, to)` of a partition that wait in the log for one webhook; without `to`, all further offsets. */
export interface ParkedRange {
  readonly from: number;
  readonly to?: number | undefined;
}

/** Ended deliveries of a replay below its cursor. */
export interface ReplayCounts {
  /** Delivered at once. */
  readonly done: number;
  /** Left to the retry queue, or dead letters. */
  readonly failed: number;
}

/** The stored ranges of a partition, of parked webhooks and replays. */
export interface Parking {
  /** Ranges by key (`readRangeKey`), in the order in which they are caught up. */
  readonly ranges: ReadonlyMap<string, readonly ParkedRange[]>;
  /** Counts of the replays among them. */
  readonly replays: ReadonlyMap<string, ReplayCounts>;
  /** Offsets inside a range whose record is a duplicate or a conflict: no webhook gets it. */
  readonly dropped: readonly number[];
  /** First offset that was not handed out when this was written; 0 before the first write. */
  readonly next: number;
}

/** Changes of the ranges to be written. */
export interface ParkingWrite {
  /** The keys whose ranges changed, each with all of its ranges. */
  readonly changed: ReadonlyMap<string, readonly ParkedRange[]>;
  /** Counts of the replays among them. */
  readonly replays: ReadonlyMap<string, ReplayCounts>;
  readonly dropped: readonly number[];
  /** Lines of notices about webhooks that this write parks. */
  readonly notices?: readonly string[];
  /** Dropped offsets below this are no longer needed; undefined when none is needed. */
  readonly keptFrom: number | undefined;
  /** Dropped offsets from here on are forgotten, because the log may have other records there than before. */
  readonly lostFrom?: number | undefined;
  readonly next: number;
}

export const NOTHING_PARKED: Parking = { ranges: new Map(), replays: new Map(), dropped: [], next: 0 };

/**
 * Reads a range key: the id of a parked webhook, or `<webhook id>/<series>` of a replay. The series distinguishes the replay's
 * deliveries from all others of the same envelopes. A key that begins with `failed:` belongs to a replay of dead letters only.
 */
export function readRangeKey(key: string): RangeKey {
  const isOfFailed = key.startsWith(ONLY_FAILED);
  const [webhookId = '', series = '0'] = (isOfFailed ? key.slice(ONLY_FAILED.length) : key).split('/');
  return { webhookId, series: Number(series), isOfFailed };
}

interface RangeKey {
  readonly webhookId: string;
  /** 0 for a parked webhook. */
  readonly series: number;
  readonly isOfFailed: boolean;
}

const ONLY_FAILED = 'failed:';

/** Prefix of the range key of a replay. */
export const rangeKeyPrefix = (status: 'all' | 'failed'): string => (status === 'failed' ? ONLY_FAILED : '');

export const isReplay = (key: string): boolean => key.includes('/');

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

/**
 * Writes ranges as `from-to` separated by commas, an open end empty. A replay's counts follow: `17-40|3|0`, and `|26|0` once it
 * has ended.
 */
export function rangesText(ranges: readonly ParkedRange[], counts?: ReplayCounts): string {
  const text = ranges.map(({ from, to }) => `${from}-${to ?? ''}`).join(',');
  return counts === undefined ? text : `${text}|${counts.done}|${counts.failed}`;
}

export function readRanges(text: string): ParkedRange[] {
  const [ranges = ''] = text.split('|');
  if (ranges === '') return [];
  return ranges.split(',').map((range) => {
    const [from = '', to = ''] = range.split('-');
    return { from: Number(from), to: to === '' ? undefined : Number(to) };
  });
}

export function readReplay(text: string): { readonly ranges: readonly ParkedRange[]; readonly counts: ReplayCounts } {
  const [, done = '0', failed = '0'] = text.split('|');
  return { ranges: readRanges(text), counts: { done: Number(done), failed: Number(failed) } };
}
