/** How far a walk through letters came in its time. At least one slice is met, so that whoever goes on with `rest` comes to an end. */
export class Met {
  #hasMet = false;
  #after: string | undefined;

  /** @param until epoch milliseconds */
  constructor(private readonly until: number) {}

  isOver(now: number): boolean {
    return this.#hasMet && now >= this.until;
  }

  /** @param gone those of them that do not stay */
  add(looked: readonly { readonly id: string }[], gone: readonly { readonly id: string }[]): void {
    this.#hasMet = true;
    this.#after = looked.findLast((each) => !gone.includes(each))?.id ?? this.#after;
  }

  get rest(): { readonly complete: false; readonly after?: string } {
    return { complete: false, ...(this.#after === undefined ? {} : { after: this.#after }) };
  }
}
