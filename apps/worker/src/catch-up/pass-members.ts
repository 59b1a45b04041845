/** Offsets read in one pass. Webhooks that may be caught up meanwhile join the next one. */
export const PASS_OFFSETS = 5_000;

interface Range {
  /** The offset at which it continues. */
  readonly from: number;
}

/**
 * Which webhooks or replays of a partition share the next pass, and where it begins. They take turns in being the one
 * that the pass is for (`first`, the next after that of the pass before), so none waits until another has caught up
 * with it. Ranges that begin up to half a pass before it are included; those further behind are left out, because
 * their gap would count as read.
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
