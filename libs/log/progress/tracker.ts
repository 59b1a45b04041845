interface RunningOffset {
  readonly offset: number;
  before: RunningOffset | undefined;
  after: RunningOffset | undefined;
}

/**
 * Progress of one partition: its running offsets, and the high water below which every offset is settled. Offsets are accepted
 * in ascending order and settle in any order. The running offsets form a linked list instead of a Set in insertion order:
 * the first element of a Set whose head was deleted lies behind a run of holes (100,000 offsets settled in order, the high
 * water read after each: 1,000 ms with a Set, 15 ms with the list), and an iterator kept on the Set holds memory while one
 * offset is slow.
 */
export class Tracker {
  readonly #running = new Map<number, RunningOffset>();
  #first: RunningOffset | undefined;
  #last: RunningOffset | undefined;
  #next: number;
  #emptyTo = 0;

  /** @param start the stored high water: the first offset that is not settled */
  constructor(start: number) {
    this.#next = checked(start);
  }

  /**
   * Begins an offset. Returns false if it is below `next`: Kafka delivers records again after a rejoin. Skipped offsets between
   * `next` and this one (compaction, control records, retention) count as settled.
   */
  accept(offset: number): boolean {
    if (checked(offset) < this.#next) return false;
    const entry: RunningOffset = { offset, before: this.#last, after: undefined };
    if (this.#last) this.#last.after = entry;
    else this.#first = entry;
    this.#last = entry;
    this.#running.set(offset, entry);
    this.#next = offset + 1;
    return true;
  }

  /**
   * Ends a running offset.
   * @throws RangeError if it is not running, which is a bug
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

  /** End of the settled prefix: the smallest running offset, or `next` when none runs. Never goes back. */
  get highWater(): number {
    return this.#first?.offset ?? this.#next;
  }

  /** The smallest offset that was not accepted. */
  get next(): number {
    return this.#next;
  }

  /** Passes the offsets below `to`. Offsets below it that were not accepted belong to other shards and count as settled. */
  pass(to: number): void {
    this.#next = Math.max(this.#next, checked(to));
  }

  /** Notes that the log holds no record at the offsets `[from, to)`: markers of transactions, or records of aborted ones. */
  foundEmpty(from: number, to: number): void {
    if (from <= this.emptyTo) this.#emptyTo = Math.max(this.#emptyTo, to);
  }

  /** The first offset that may hold a record that was not accepted. */
  get emptyTo(): number {
    return Math.max(this.#next, this.#emptyTo);
  }

  /** Returns a stored high water, or the end of the markers and aborted records that directly follow it. */
  beyond(highWater: number): number {
    return highWater === this.#next ? this.emptyTo : highWater;
  }

  /** Number of running offsets. */
  get running(): number {
    return this.#running.size;
  }
}

function checked(offset: number): number {
  if (!Number.isSafeInteger(offset) || offset < 0) throw new RangeError(`${offset} is no offset`);
  return offset;
}
