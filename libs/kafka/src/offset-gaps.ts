import type { Batch } from 'kafkajs';

/** The offsets `[from, to)`, at which the log has no record any more: compaction removed it. */
export interface OffsetGap {
  readonly from: number;
  readonly to: number;
}

/**
 * The gaps in what was fetched, from the offset `next` on and below `end`. Markers and records of aborted transactions are
 * there: the types of kafkajs leave out the member with all that was fetched.
 */
export function gapsIn(batch: Batch, next: number, end = Infinity): OffsetGap[] {
  const { rawMessages } = batch as Batch & { readonly rawMessages: readonly { readonly offset: string }[] };
  const gaps: OffsetGap[] = [];
  let from = next;
  for (const { offset } of rawMessages) {
    const to = Math.min(Number(offset), end);
    if (from < to) gaps.push({ from, to });
    from = Math.max(from, Number(offset) + 1);
  }
  return gaps;
}
