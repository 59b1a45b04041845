/**
 * How many lines one event word may have within a second, so that a burst (a thousand dead letters after an outage)
 * leaves the log readable. What is left out is counted, and the count goes with the next line of that word.
 */
export class LineBudget {
  readonly #spent = new Map<string, { second: number; said: number; unsaid: number }>();

  constructor(private readonly perSecond: number) {}

  /** @returns how many lines of the word were left out since its last one; undefined when this one must be left out too */
  take(event: string, nowMs: number): number | undefined {
    const second = Math.floor(nowMs / 1_000);
    let spent = this.#spent.get(event);
    if (spent === undefined) this.#spent.set(event, (spent = { second, said: 0, unsaid: 0 }));
    if (spent.second !== second) {
      spent.second = second;
      spent.said = 0;
    }
    if (spent.said >= this.perSecond) {
      spent.unsaid += 1;
      return undefined;
    }
    spent.said += 1;
    const { unsaid } = spent;
    spent.unsaid = 0;
    return unsaid;
  }
}
