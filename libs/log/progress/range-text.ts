import type { ParkedRange, ReplayCounts } from './parking.js';

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
