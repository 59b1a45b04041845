interface Waiting {
  /** Where it goes on. */
  readonly from: number;
}

/**
 * Which of those that wait in a partition share the next pass, and where that begins. They take turns in being the one it
 * is for (`first`, the next after that of the pass before), so none waits until another has caught up with it. Those a
 * little before it are taken along; what lies further behind is left out, as it would seem to have been looked at.
 */
export function sharers<T extends Waiting>(
  able: ReadonlyMap<string, T>,
  before: string | undefined,
  length: number,
): { first: string | undefined; going: Map<string, T>; from: number } {
  const keys = [...able.keys()];
  const first = keys[(keys.indexOf(before ?? '') + 1) % keys.length];
  const middle = able.get(first ?? '')?.from ?? Infinity;
  const starts = [...able.values()].map((turn) => turn.from).filter((start) => start > middle - length / 2);
  const from = Math.min(...starts);
  const going = new Map([...able].filter(([, turn]) => turn.from >= from && turn.from < from + length));
  return { first, going, from };
}
