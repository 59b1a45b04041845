/** How far a walk through dead letters came in its time. A walk covers one slice at least, so repeated calls with `rest` end. */
export class Progress {
  #hasBegun = false;
  #after: string | undefined;

  /** @param until epoch milliseconds */
  constructor(private readonly until: number) {}

  isOver(now: number): boolean {
    return this.#hasBegun && now >= this.until;
  }

  /** @param removed the dead letters of the slice that do not stay */
  add(slice: readonly { readonly id: string }[], removed: readonly { readonly id: string }[]): void {
    this.#hasBegun = true;
    this.#after = slice.findLast((each) => !removed.includes(each))?.id ?? this.#after;
  }

  get rest(): { readonly complete: false; readonly after?: string } {
    return { complete: false, ...(this.#after === undefined ? {} : { after: this.#after }) };
  }
}
