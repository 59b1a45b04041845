import { IdSet, keyOf } from './id-set.js';

/** Parts of the window that are forgotten as a whole: an id is known for 23 to 24 of them. */
const PARTS = 24;

/**
 * Ids of the latest window of a partition's own time. An id is never known for longer than the window, so that a second
 * acceptance never passes for a repeat.
 */
export class RecentIds {
  readonly #parts = new Map<number, IdSet>();
  readonly #partMs: number;

  constructor(private readonly windowMs: number) {
    this.#partMs = windowMs / PARTS;
  }

  /** Ids that are kept. */
  get size(): number {
    return [...this.#parts.values()].reduce((sum, { size }) => sum + size, 0);
  }

  /** Whether the id was added less than a window before `at`, in epoch milliseconds. */
  has(id: string, at: number): boolean {
    if (this.#parts.size === 0) return false;
    const key = keyOf(id);
    for (const [part, ids] of this.#parts)
      if (part * this.#partMs > at - this.windowMs && ids.has(id, key)) return true;
    return false;
  }

  add(id: string, at: number): void {
    const part = Math.floor(at / this.#partMs);
    const ids = this.#parts.get(part) ?? new IdSet();
    ids.add(id);
    this.#parts.set(part, ids);
    for (const each of this.#parts.keys()) if (each * this.#partMs <= at - this.windowMs) this.#parts.delete(each);
  }
}
