import { hash } from 'node:crypto';

const EMPTY = 0n;
const MOST_FULL = 0.6;

/**
 * A set of ids that costs 13 to 27 bytes each, since it keeps 64 bits of their SHA-256. With a hundred million ids the
 * chance that it confuses another one with them is 1 to 180,000 million.
 */
export class IdSet {
  #slots = new BigUint64Array(1 << 12);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  add(id: string): void {
    if (this.#put(keyOf(id)) && this.#size > this.#slots.length * MOST_FULL) this.#grow();
  }

  /** @param key `keyOf(id)`, for who looks into several sets */
  has(id: string, key = keyOf(id)): boolean {
    return this.#slots[this.#slotOf(key)] === key;
  }

  #put(key: bigint): boolean {
    const slot = this.#slotOf(key);
    if (this.#slots[slot] === key) return false;
    this.#slots[slot] = key;
    this.#size += 1;
    return true;
  }

  /** Index of the key, or of the free slot for it. */
  #slotOf(key: bigint): number {
    const mask = this.#slots.length - 1;
    let slot = Number(key & 0xffff_ffffn) & mask;
    while (this.#slots[slot] !== EMPTY && this.#slots[slot] !== key) slot = (slot + 1) & mask;
    return slot;
  }

  #grow(): void {
    const keys = this.#slots;
    this.#slots = new BigUint64Array(keys.length * 2);
    this.#size = 0;
    for (const key of keys) if (key !== EMPTY) this.#put(key);
  }
}

const keyOf = (id: string): bigint => hash('sha256', id, 'buffer').readBigUInt64LE(0) || 1n;

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
