/**
 * Offsets `[from, to)` of a partition whose records wait in the log for one webhook. Without `to`, the range has no end yet.
 */
export interface ParkedRange {
  readonly from: number;
  readonly to?: number | undefined;
}

/** Number of deliveries of a replay that have ended below the replay's cursor. */
export interface ReplayCounts {
  /** Deliveries whose first attempt succeeded. */
  readonly done: number;
  /** Deliveries that were passed to the retry queue or became dead letters. */
  readonly failed: number;
}

/** The stored ranges of a partition, for parked webhooks and replays. */
export interface Parking {
  /** Ranges by range key (`readRangeKey`), in the order in which they are caught up. */
  readonly ranges: ReadonlyMap<string, readonly ParkedRange[]>;
  /** Counts of the replays that have ranges here, by range key. */
  readonly replays: ReadonlyMap<string, ReplayCounts>;
  /** Offsets inside a range whose record is a duplicate or a conflict, so no parked webhook gets it. */
  readonly dropped: readonly number[];
  /** First offset that was not dispatched yet when this was written; 0 before the first write. */
  readonly next: number;
}

/** Changes of the ranges that a flush writes. */
export interface ParkingWrite {
  /** Ranges by range key, for each key that has changed. The list has all ranges of the key. */
  readonly changed: ReadonlyMap<string, readonly ParkedRange[]>;
  /** Counts of the changed replays, by range key. */
  readonly replays: ReadonlyMap<string, ReplayCounts>;
  readonly dropped: readonly number[];
  /** Lines of notices about webhooks that this write parks. */
  readonly notices?: readonly string[];
  /** From the stored dropped offsets, those below this offset are removed. If it is undefined, all of them are removed. */
  readonly keptFrom: number | undefined;
  /**
   * From the stored dropped offsets, this offset and all higher ones are removed. The log has become shorter and may have
   * other records at these offsets than before.
   */
  readonly lostFrom?: number | undefined;
  readonly next: number;
}

export const NOTHING_PARKED: Parking = { ranges: new Map(), replays: new Map(), dropped: [], next: 0 };

/**
 * Reads a range key: the id of a parked webhook, or `<webhook id>/<series>` for a replay. The series is part of the replay's
 * delivery ids and distinguishes them from other deliveries of the same envelopes. A key that begins with `failed:` belongs
 * to a replay of dead letters only.
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

/** Returns the prefix of a replay's range key. */
export const rangeKeyPrefix = (status: 'all' | 'failed'): string => (status === 'failed' ? ONLY_FAILED : '');

export const isReplay = (key: string): boolean => key.includes('/');

export const isInside = ({ from, to = Infinity }: ParkedRange, offset: number): boolean =>
  from <= offset && offset < to;

/**
 * Returns the part of a range below `end`, the end of the log. An open range stays open, because its webhook is still
 * parked.
 */
export function cutAt(end: number, { from, to }: ParkedRange): ParkedRange[] {
  if (to === undefined) return [{ from: Math.min(from, end) }];
  return from < end ? [{ from, to: Math.min(to, end) }] : [];
}

/**
 * Returns the range that replaces the ranges of a deleted topic: the whole new log up to `end`, or an open range if one of
 * the old ranges was open.
 */
export function renewed(end: number, ranges: readonly ParkedRange[]): ParkedRange[] {
  if (ranges.some(({ to }) => to === undefined)) return [{ from: 0 }];
  return end > 0 && ranges.length > 0 ? [{ from: 0, to: end }] : [];
}

/** Returns the ranges without the offsets that are also in `others`. */
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

/**
 * Counts the offsets in the ranges that are still to be delivered.
 * @param cursor offset up to which the first range is caught up
 * @param next end of an open range
 */
export const offsetsIn = (ranges: readonly ParkedRange[], cursor: number, next: number): number =>
  ranges.reduce(
    (sum, { from, to = next }, index) => sum + Math.max(0, to - (index === 0 ? Math.max(from, cursor) : from)),
    0,
  );

/**
 * Formats ranges as `from-to`, separated by commas; an open range has no `to`. For a replay, its counts follow: for example
 * `17-40|3|0`, and `|26|0` after the replay has ended.
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
