interface Running {
  readonly offset: number;
  before: Running | undefined;
  after: Running | undefined;
}

/**
 * Progress in one partition: which offsets run and up to where everything is settled. Offsets come in ascending order
 * and settle in any order. The running ones form a linked list and not a Set in insertion order: the first element of
 * a Set whose head was deleted lies behind a run of holes (100,000 settled in order, the high water read after each:
 * 1,000 ms with a Set, 15 ms so), and an iterator kept on the Set instead holds memory while one offset is slow.
 */
export class Tracker {
  readonly #running = new Map<number, Running>();
  #first: Running | undefined;
  #last: Running | undefined;
  #next: number;

  /** @param start the first offset that is not settled yet: the stored high water */
  constructor(start: number) {
    this.#next = checked(start);
  }

  /**
   * Takes an offset up. False when it is already known (below `next`): Kafka hands records out again after a rejoin.
   * Offsets skipped between `next` and this one (compaction, control records, retention) count as settled.
   */
  accept(offset: number): boolean {
    if (checked(offset) < this.#next) return false;
    const entry: Running = { offset, before: this.#last, after: undefined };
    if (this.#last) this.#last.after = entry;
    else this.#first = entry;
    this.#last = entry;
    this.#running.set(offset, entry);
    this.#next = offset + 1;
    return true;
  }

  /**
   * Ends a running offset.
   * @throws RangeError when it is not running: to settle twice, or what was never taken up, is a fault of ours
   */
  settle(offset: number): void {
    const entry = this.#running.get(offset);
    if (!entry) throw new RangeError(`offset ${offset} is settled but was not running`);
    this.#running.delete(offset);
    if (entry.before) entry.before.after = entry.after;
    else this.#first = entry.after;
    if (entry.after) entry.after.before = entry.before;
    else this.#last = entry.before;
  }

  /** End of the settled prefix: the smallest running offset, or `next` when nothing runs. Never goes back. */
  get highWater(): number {
    return this.#first?.offset ?? this.#next;
  }

  /** The smallest offset not taken up yet. */
  get next(): number {
    return this.#next;
  }

  /** How many offsets run. */
  get running(): number {
    return this.#running.size;
  }
}

function checked(offset: number): number {
  if (!Number.isSafeInteger(offset) || offset < 0) throw new RangeError(`${offset} is no offset`);
  return offset;
}
