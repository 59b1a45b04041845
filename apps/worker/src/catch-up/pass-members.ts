/** Offsets read in one pass. Webhooks that may be caught up meanwhile join the next pass. */
export const PASS_OFFSETS = 5_000;

interface Range {
  /** Offset at which the range continues. */
  readonly from: number;
}

/**
 * Returns the webhooks or replays of a partition that share the next pass, and the offset at which it begins. A pass is for one
 * of them, `first`. They take turns, so none waits until another has caught up with it. The pass includes ranges that begin up to
 * half a pass before `first`. It leaves out ranges further behind; otherwise their gap counts as read.
 */
export function passMembers<T extends Range>(
  able: ReadonlyMap<string, T>,
  before: string | undefined,
  length = PASS_OFFSETS,
): { first: string | undefined; members: Map<string, T>; from: number } {
  const keys = [...able.keys()];
  const first = keys[(keys.indexOf(before ?? '') + 1) % keys.length];
  const middle = able.get(first ?? '')?.from ?? Infinity;
  const starts = [...able.values()].map((range) => range.from).filter((start) => start > middle - length / 2);
  const from = Math.min(...starts);
  const members = new Map([...able].filter(([, range]) => range.from >= from && range.from < from + length));
  return { first, members, from };
}
