interface Open<Item, Answer> {
  readonly items: Item[];
  size: number;
  readonly answer: Promise<Answer>;
}

/** Combines the calls of one turn of the event loop into as few as their sizes allow. */
export class CallBatch<Item, Answer> {
  #open: Open<Item, Answer> | undefined;

  /** @param maxSize maximum size of a batch, unless a single call is larger: a script blocks Redis */
  constructor(
    private readonly run: (items: readonly Item[]) => Promise<Answer>,
    private readonly maxSize: number,
  ) {}

  /** @returns the answer of the whole batch, and the position of these items in it */
  async add(items: readonly Item[], size: number): Promise<{ answer: Answer; from: number }> {
    let open = this.#open;
    if (open === undefined || open.size + size > this.maxSize) this.#open = open = this.#begin();
    open.size += size;
    const from = open.items.push(...items) - items.length;
    return { answer: await open.answer, from };
  }

  #begin(): Open<Item, Answer> {
    const items: Item[] = [];
    const answer = new Promise<void>((resolve) => {
      setImmediate(resolve);
    }).then(() => {
      if (this.#open?.items === items) this.#open = undefined;
      return this.run(items);
    });
    return { items, size: 0, answer };
  }
}
