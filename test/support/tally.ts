/** The oracle of a fault: the accepted envelopes of a source against the deliveries of an endpoint. */
export interface Tally {
  readonly accepted: number;
  readonly received: number;
  readonly lost: number;
  readonly duplicates: number;
}

export function tally(accepted: ReadonlySet<string>, receivedIds: readonly string[]): Tally {
  const received = new Set(receivedIds);
  return {
    accepted: accepted.size,
    received: received.size,
    lost: [...accepted].filter((id) => !received.has(id)).length,
    duplicates: receivedIds.length - received.size,
  };
}

/** Leaves a fault's counts in the output of the test run. */
export function print(fault: string, counts: Tally & Readonly<Record<string, number>>): void {
  const text = Object.entries(counts).map(([name, count]) => `${name} ${count}`);
  process.stdout.write(`${fault}: ${text.join(', ')}\n`);
}
