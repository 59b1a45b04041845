import { Heap } from './heap.js';

interface Lined {
  readonly partner: string;
}

/** How long a queued job that found no slot keeps the partner that holds too many from taking more. */
const YIELD_MS = 1_000;

/**
 * Who is next when a slot comes free: the one that waits longest, but those whose partner holds its share or more only
 * when nobody else waits. The more a partner floods, the more of it waits here behind the others.
 */
export class Partners<E extends Lined> {
  readonly #share: number;
  readonly #holds = new Map<string, number>();
  readonly #ready = new Heap<E>();
  /** What waits of partners that hold their share. At a share of a half there are two of them at most. */
  readonly #over = new Map<string, Heap<E>>();
  #refused: { partner: string; until: number } | undefined;

  constructor(share: number) {
    this.#share = share;
  }

  /** Lines one up, which stands here no more than once. */
  line(entry: E, order: number): void {
    this.#lineOf(entry.partner).push(order, entry);
  }

  take(partner: string): void {
    this.#holds.set(partner, this.#held(partner) + 1);
  }

  giveBack(partner: string): void {
    const left = this.#held(partner) - 1;
    if (left > 0) this.#holds.set(partner, left);
    else this.#holds.delete(partner);
    // Less than its share, so what waits of it competes with the others again.
    if (left < this.#share) this.#readmit(partner);
  }

  /** A queued job of this partner found every slot taken: it counts as waiting, though it does not wait here. */
  refused(partner: string, now: number): void {
    this.#refused = { partner, until: now + YIELD_MS };
  }

  /** Takes out who is next; undefined when nobody waits who may have a slot. */
  next(now: number): E | undefined {
    for (;;) {
      const order = this.#ready.firstKey;
      const entry = this.#ready.pop();
      if (entry === undefined || order === undefined) break;
      if (this.#held(entry.partner) < this.#share) return entry;
      this.#lineOf(entry.partner).push(order, entry);
    }
    for (const [partner, heap] of this.#over) {
      if (this.#mustYield(partner, now)) continue;
      const entry = heap.pop();
      if (heap.firstKey === undefined) this.#over.delete(partner);
      if (entry !== undefined) return entry;
    }
    return undefined;
  }

  #held(partner: string): number {
    return this.#holds.get(partner) ?? 0;
  }

  #mustYield(partner: string, now: number): boolean {
    return this.#refused !== undefined && this.#refused.partner !== partner && now < this.#refused.until;
  }

  #lineOf(partner: string): Heap<E> {
    if (this.#held(partner) < this.#share) return this.#ready;
    let heap = this.#over.get(partner);
    if (heap === undefined) this.#over.set(partner, (heap = new Heap()));
    return heap;
  }

  #readmit(partner: string): void {
    const heap = this.#over.get(partner);
    this.#over.delete(partner);
    for (let order = heap?.firstKey; order !== undefined; order = heap?.firstKey) {
      const entry = heap?.pop();
      if (entry !== undefined) this.#ready.push(order, entry);
    }
  }
}
