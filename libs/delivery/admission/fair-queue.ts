import { Heap } from './heap.js';

interface Owned {
  readonly partner: string;
}

/** Time in ms for which a refused job keeps partners above their share from taking more slots. */
const YIELD_MS = 1_000;

/**
 * Chooses the entry that takes a free slot: the entry that has waited longest. An entry of a partner that has its share of slots
 * is chosen only if no other partner waits. The more a partner floods, the more of its entries wait behind the others.
 */
export class FairQueue<E extends Owned> {
  readonly #share: number;
  readonly #taken = new Map<string, number>();
  readonly #ready = new Heap<E>();
  /** Entries of partners that have their share; at a share of a half these are two partners at most. */
  readonly #overShare = new Map<string, Heap<E>>();
  #refused: { partner: string; until: number } | undefined;

  constructor(share: number) {
    this.#share = share;
  }

  /** Adds an entry, which is here at most once. */
  push(entry: E, order: number): void {
    this.#heapOf(entry.partner).push(order, entry);
  }

  take(partner: string): void {
    this.#taken.set(partner, this.#takenBy(partner) + 1);
  }

  giveBack(partner: string): void {
    const left = this.#takenBy(partner) - 1;
    if (left > 0) this.#taken.set(partner, left);
    else this.#taken.delete(partner);
    // The partner has less than its share: its entries compete with the others again.
    if (left < this.#share) this.#readmit(partner);
  }

  /** Counts a partner as waiting without an entry here, because a queued job of it found every slot taken. */
  refused(partner: string, now: number): void {
    this.#refused = { partner, until: now + YIELD_MS };
  }

  /** Removes the next entry; returns undefined if no partner that may take a slot waits. */
  next(now: number): E | undefined {
    for (;;) {
      const order = this.#ready.firstKey;
      const entry = this.#ready.pop();
      if (entry === undefined || order === undefined) break;
      if (this.#takenBy(entry.partner) < this.#share) return entry;
      this.#heapOf(entry.partner).push(order, entry);
    }
    for (const [partner, heap] of this.#overShare) {
      if (this.#mustYield(partner, now)) continue;
      const entry = heap.pop();
      if (heap.firstKey === undefined) this.#overShare.delete(partner);
      if (entry !== undefined) return entry;
    }
    return undefined;
  }

  #takenBy(partner: string): number {
    return this.#taken.get(partner) ?? 0;
  }

  #mustYield(partner: string, now: number): boolean {
    return this.#refused !== undefined && this.#refused.partner !== partner && now < this.#refused.until;
  }

  #heapOf(partner: string): Heap<E> {
    if (this.#takenBy(partner) < this.#share) return this.#ready;
    let heap = this.#overShare.get(partner);
    if (heap === undefined) this.#overShare.set(partner, (heap = new Heap()));
    return heap;
  }

  #readmit(partner: string): void {
    const heap = this.#overShare.get(partner);
    this.#overShare.delete(partner);
    for (let order = heap?.firstKey; order !== undefined; order = heap?.firstKey) {
      const entry = heap?.pop();
      if (entry !== undefined) this.#ready.push(order, entry);
    }
  }
}
