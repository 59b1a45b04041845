/** One answer for all who ask within some time, also while it is not there yet. A failure is for those who waited for it. */
export class SharedAnswer<T> {
  #last: { readonly at: number; readonly answer: Promise<T> } | undefined;

  /** @param now milliseconds, monotonic */
  constructor(
    private readonly ask: () => Promise<T>,
    private readonly freshMs: number,
    private readonly now: () => number,
  ) {}

  read(): Promise<T> {
    const now = this.now();
    if (this.#last !== undefined && now - this.#last.at < this.freshMs) return this.#last.answer;
    const last = { at: now, answer: this.ask() };
    this.#last = last;
    last.answer.catch(() => {
      if (this.#last === last) this.#last = undefined;
    });
    return last.answer;
  }
}
