interface Waiting<In, Out> {
  readonly item: In;
  readonly resolve: (out: Out | undefined) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Combines single calls into calls over many. One call is under way at a time; items that arrive meanwhile form the
 * next one, so the size of a batch follows the load. `run` answers in the order of its items; undefined where it has no
 * answer.
 */
export class MicroBatch<In, Out> {
  #waiting: Waiting<In, Out>[] = [];
  #isRunning = false;

  constructor(
    private readonly run: (items: readonly In[]) => Promise<readonly (Out | undefined)[]>,
    private readonly maxItems: number,
    /** Milliseconds in which items gather before a call; without it no item waits for a timer. */
    private readonly gatherMs?: number,
  ) {}

  get size(): number {
    return this.#waiting.length;
  }

  add(item: In): Promise<Out | undefined> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject });
      if (this.#isRunning) return;
      this.#isRunning = true;
      void this.#drain();
    });
  }

  #gathered(): Promise<void> {
    return new Promise((resolve) => {
      // Items of the same turn of the event loop join the batch.
      if (this.gatherMs === undefined) setImmediate(resolve);
      else setTimeout(resolve, this.gatherMs);
    });
  }

  async #drain(): Promise<void> {
    await this.#gathered();
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, this.maxItems);
      try {
        const answers = await this.run(batch.map((waiting) => waiting.item));
        for (const [index, waiting] of batch.entries()) waiting.resolve(answers[index]);
      } catch (error) {
        for (const waiting of batch) waiting.reject(error);
      }
      if (this.gatherMs !== undefined && this.#waiting.length < this.maxItems) await this.#gathered();
    }
    this.#isRunning = false;
  }
}
