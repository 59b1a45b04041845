/** A binary heap. The value with the smallest key comes first. Insertion and removal take logarithmic time. */
export class Heap<V> {
  readonly #entries: { readonly key: number; readonly value: V }[] = [];

  /** The smallest key; undefined if the heap is empty. */
  get firstKey(): number | undefined {
    return this.#entries[0]?.key;
  }

  get size(): number {
    return this.#entries.length;
  }

  /** Removes and returns the first value if its key is less than or equal to `key`; otherwise returns undefined. */
  popUntil(key: number): V | undefined {
    return (this.firstKey ?? Infinity) <= key ? this.pop() : undefined;
  }

  push(key: number, value: V): void {
    const entries = this.#entries;
    const entry = { key, value };
    let at = entries.push(entry) - 1;
    while (at > 0) {
      const above = (at - 1) >> 1;
      const parent = entries[above];
      if (!parent || parent.key <= key) break;
      entries[at] = parent;
      at = above;
    }
    entries[at] = entry;
  }

  /** Removes and returns the value with the smallest key; undefined if the heap is empty. */
  pop(): V | undefined {
    const entries = this.#entries;
    const first = entries[0];
    const last = entries.pop();
    if (!first || !last || entries.length === 0) return first?.value;
    let at = 0;
    for (;;) {
      let below = 2 * at + 1;
      const left = entries[below];
      const right = entries[below + 1];
      if (!left) break;
      const child = right && right.key < left.key ? right : left;
      if (child === right) below += 1;
      if (child.key >= last.key) break;
      entries[at] = child;
      at = below;
    }
    entries[at] = last;
    return first.value;
  }
}
