import type { OperationsRecord } from '@relay/events';
import type { AuditAnswer, AuditQuery } from './audit-answers.js';

/** Offsets `[from, end)` of a partition that an answer looks at; `low` is the oldest one kept. */
export interface AuditRange {
  readonly partition: number;
  readonly low: number;
  readonly from: number;
  readonly end: number;
}

/** A record that the filter lets through. */
export interface FoundRecord {
  readonly partition: number;
  readonly offset: number;
  readonly record: OperationsRecord;
}

/** Records looked at for one answer. */
const MOST_LOOKED_AT = 5_000;

/** The newest offsets before `before`, in equal shares of the partitions. */
export function rangesBefore(
  kept: readonly { readonly partition: number; readonly from: number; readonly end: number }[],
  before: string | undefined,
): AuditRange[] {
  const ends = new Map(before?.split(',').map((part) => part.split(':').map(Number) as [number, number]));
  const share = Math.floor(MOST_LOOKED_AT / Math.max(1, kept.length));
  return kept.map(({ partition, from: low, end: high }) => {
    const end = Math.max(low, Math.min(high, ends.get(partition) ?? high));
    return { partition, low, from: Math.max(low, end - share), end };
  });
}

export const isAsked = (record: OperationsRecord, { event, operator, partner, webhook }: AuditQuery): boolean =>
  (event === undefined || record.event === event) &&
  (operator === undefined || record.operator === operator) &&
  (partner === undefined || record.partnerId === partner) &&
  (webhook === undefined || isAbout(record, webhook.toLowerCase()));

const isAbout = ({ webhookId, webhookIds }: OperationsRecord, webhook: string): boolean =>
  webhookId === webhook || webhookIds?.includes(webhook) === true;

/** The newest of the found records, and where older ones begin. */
export function pageOf(ranges: readonly AuditRange[], found: readonly FoundRecord[], limit: number): AuditAnswer {
  const newest = found.toSorted((a, b) =>
    a.partition === b.partition ? b.offset - a.offset : a.record.at < b.record.at ? 1 : -1,
  );
  const shown = newest.slice(0, limit);
  const left = newest.slice(limit);
  const older = ranges.map(({ partition, low, from }) => {
    // Records that were found and are not shown come next.
    const next = left.filter((each) => each.partition === partition).map(({ offset }) => offset + 1);
    return { partition, low, end: Math.max(from, ...next) };
  });
  return {
    records: shown.map(({ record }) => record),
    before: older.some(({ low, end }) => end > low)
      ? older.map(({ partition, end }) => `${partition}:${end}`).join(',')
      : null,
  };
}
