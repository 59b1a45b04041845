import { Heap } from './heap.js';

interface Owned {
  readonly partner: string;
}

/** Time in ms after the refusal of a job. During this time, partners that have reached their share get no further slots. */
const YIELD_MS = 1_000;

/**
 * Chooses the entry that gets a free slot. It is the entry that has waited longest, but entries of a partner that has
 * reached its share of slots are chosen only if no other partner waits. If a partner floods the queue, it therefore delays
 * mostly its own entries.
 */
export class FairQueue<E extends Owned> {
  readonly #share: number;
  readonly #taken = new Map<string, number>();
  readonly #ready = new Heap<E>();
  /**
   * Entries of partners that have reached their share. If the share is half of the slots, these are at most two partners.
   */
  readonly #overShare = new Map<string, Heap<E>>();
  #refused: { partner: string; until: number } | undefined;

  constructor(share: number) {
    this.#share = share;
  }

  /** Adds an entry. An entry must not be in the queue twice. */
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
    // The partner is below its share now, so its entries compete with the others again.
    if (left < this.#share) this.#readmit(partner);
  }

  /**
   * Records that a queued job of this partner found all slots taken. The partner then counts as waiting although it has no
   * entry here.
   */
  refused(partner: string, now: number): void {
    this.#refused = { partner, until: now + YIELD_MS };
  }

  /** Removes and returns the next entry; undefined if no waiting partner may take a slot. */
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
