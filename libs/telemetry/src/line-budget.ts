/**
 * Bounds the lines of one event word in a second, so that a burst (a thousand dead letters after an outage) leaves the log
 * readable. The next line of that word has the count of dropped lines.
 */
export class LineBudget {
  readonly #spent = new Map<string, { second: number; said: number; unsaid: number }>();

  constructor(private readonly perSecond: number) {}

  /** @returns how many lines of the word were dropped since its last one; undefined when this one must be dropped too */
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
