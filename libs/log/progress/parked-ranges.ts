import {
  cutAt,
  isInside,
  NOTHING_PARKED,
  offsetsIn,
  renewed,
  type ParkedRange,
  type Parking,
  type ParkingWrite,
  type ReplayCounts,
} from './parking.js';
import { Tracker } from './tracker.js';

interface Parked {
  /** At most one range is open. The first range is caught up; its `from` is its cursor at the beginning of the catch-up. */
  ranges: ParkedRange[];
  /** The running and settled offsets of the first range. */
  tracker: Tracker;
}

interface ReplayState {
  counts: ReplayCounts;
  /** Deliveries that ended at or beyond the cursor. They count once the cursor has passed them, because a crash repeats them. */
  beyond: { readonly offset: number; readonly isDone: boolean }[];
}

/**
 * The first range of a webhook or a replay while it is caught up. Calls have an effect only while the range is the first. Once it
 * is settled, the next range begins at its own start with a `CatchUpRange` of its own; otherwise a running pass counts offsets
 * before its position as read.
 */
export interface CatchUpRange extends ParkedRange {
  /** Begins the record at this offset; returns false if it does not wait here. */
  begin(offset: number): boolean;
  /** Settles a record that was delivered (`isDone`) or whose job is stored. */
  settle(offset: number, isDone: boolean): void;
  /** Marks every record below this offset as read: records that were not begun are not for this range. */
  passed(offset: number): void;
}

/**
 * The ranges of one partition: the offsets that wait in the log for parked webhooks, and how far they are caught up. A range
 * changes when an offset is handed out, and is written with the flush that covers that offset. A replay is a range of earlier
 * offsets, under a key of its own.
 */
export class ParkedRanges {
  readonly #webhooks = new Map<string, Parked>();
  /** All replays that were begun, ended ones included: none is begun twice. */
  readonly #replays = new Map<string, ReplayState>();
  readonly #dropped: Set<number>;
  readonly #changed = new Set<string>();
  #unwritten: number[] = [];
  #notices: string[] = [];
  /**
   * Every duplicate and conflict below this offset is stored. A record below it that newly looks like one was settled by a dead
   * worker.
   */
  #handedOut: number;
  #lostFrom: number | undefined;
  /** Upper bounds of the records that waited in a log that is gone, by range key. */
  #expired = new Map<string, number>();

  constructor(parking: Parking = NOTHING_PARKED) {
    for (const [webhookId, ranges] of parking.ranges) {
      const [first] = ranges;
      if (first !== undefined) this.#webhooks.set(webhookId, { ranges: [...ranges], tracker: new Tracker(first.from) });
    }
    for (const [key, counts] of parking.replays) this.#replays.set(key, { counts, beyond: [] });
    this.#dropped = new Set(parking.dropped);
    this.#handedOut = parking.next;
  }

  get keys(): readonly string[] {
    return [...this.#webhooks.keys()];
  }

  /** Begins a stored replay; a known replay stays unchanged. A replay without ranges has ended here, and is known from now on. */
  replay(key: string, ranges: readonly ParkedRange[], counts: ReplayCounts): void {
    if (this.#replays.has(key)) return;
    this.#replays.set(key, { counts, beyond: [] });
    const [first] = ranges;
    if (first !== undefined) this.#webhooks.set(key, { ranges: [...ranges], tracker: new Tracker(first.from) });
  }

  isKnownReplay(key: string): boolean {
    return this.#replays.has(key);
  }

  /**
   * Whether the record at this offset waits, or waited, in the log for the webhook. After a restart only waiting records are
   * known, because a stored range begins at its cursor.
   */
  isParked(webhookId: string, offset: number): boolean {
    return this.#webhooks.get(webhookId)?.ranges.some((range) => isInside(range, offset)) ?? false;
  }

  /**
   * Parks the webhook: every record from this offset on, which is handed out now, waits in the log for it. A record that is read
   * again after a crash is parked alone: it may lie before the open range, and duplicates behind it were not stored.
   * @param notice notice to its partner, as a line that is stored with the range
   */
  park(webhookId: string, offset: number, notice?: string): void {
    if (this.isParked(webhookId, offset)) return;
    const parked = this.#webhooks.get(webhookId);
    const isAlone = offset < this.#handedOut || parked?.ranges.some(({ to }) => to === undefined) === true;
    const range = isAlone ? { from: offset, to: offset + 1 } : { from: offset };
    if (parked === undefined) this.#webhooks.set(webhookId, { ranges: [range], tracker: new Tracker(offset) });
    else parked.ranges.push(range);
    this.#changed.add(webhookId);
    if (notice !== undefined) this.#notices.push(notice);
  }

  /**
   * Closes the webhook's open range at this offset, the next one to hand out. Records that were handed out before a crash stay in
   * the range, because they may be settled without this webhook.
   */
  close(webhookId: string, offset: number): void {
    const parked = this.#webhooks.get(webhookId);
    const open = parked?.ranges.findIndex(({ to }) => to === undefined) ?? -1;
    const range = parked?.ranges[open];
    if (parked === undefined || range === undefined) return;
    parked.ranges[open] = { from: range.from, to: Math.max(offset, range.from, this.#handedOut) };
    this.#changed.add(webhookId);
    this.#advance(webhookId, parked);
  }

  /** Removes the ranges of a deleted webhook or a cancelled replay. */
  forget(key: string): void {
    if (this.#webhooks.delete(key)) this.#changed.add(key);
  }

  /**
   * Cuts the ranges after Kafka lost the end of the log: no closed range reaches beyond the new `end`. From `sameBelow` on the
   * log may have other records than were read. A record that was read and is read again looks like a repeat, so all of these
   * count as handed out, and drops of them are forgotten.
   */
  cut(end: number, sameBelow: number): void {
    this.#change(end, sameBelow, (_key, ranges) => ranges.flatMap((range) => cutAt(end, range)));
  }

  /**
   * Replaces all ranges after the topic was created again: their log is gone. A webhook with ranges gets all of the new log up to
   * its `end` as a range, because records of the new log that were read before this was known, up to `next`, may be settled as
   * waiting. Replays end.
   */
  renew(end: number, next: number): void {
    for (const [key, { ranges, tracker }] of this.#webhooks)
      this.#expired.set(key, offsetsIn(ranges, tracker.highWater, next));
    this.#change(end, 0, (key, ranges) => (this.#replays.has(key) ? [] : renewed(end, ranges)));
  }

  /** Returns upper bounds of the waiting records that are gone with their log, by range key. Each is returned once. */
  takeExpired(): ReadonlyMap<string, number> {
    const expired = this.#expired;
    this.#expired = new Map();
    return expired;
  }

  #change(end: number, sameBelow: number, rangesOf: (key: string, of: readonly ParkedRange[]) => ParkedRange[]): void {
    this.#handedOut = end;
    this.#lostFrom = sameBelow;
    for (const offset of this.#dropped) if (offset >= sameBelow) this.#dropped.delete(offset);
    for (const [key, parked] of this.#webhooks) {
      const ranges = rangesOf(key, parked.ranges);
      const [first] = ranges;
      if (first === undefined) this.#webhooks.delete(key);
      else this.#webhooks.set(key, { ranges, tracker: new Tracker(first.from) });
      this.#changed.add(key);
    }
  }

  /** Drops the record at this offset, which is handed out now and is a duplicate or a conflict. */
  drop(offset: number): void {
    if (offset < this.#handedOut || offset < this.#lowest) return;
    this.#dropped.add(offset);
    this.#unwritten.push(offset);
  }

  /** Returns the rest of the webhook's first range, which is caught up next. */
  rest(webhookId: string): ParkedRange | undefined {
    const parked = this.#webhooks.get(webhookId);
    const first = parked?.ranges[0];
    return parked === undefined || first === undefined ? undefined : { from: parked.tracker.next, to: first.to };
  }

  /** Returns the first range of this key, to be caught up; undefined without ranges. */
  catchUp(key: string): CatchUpRange | undefined {
    const parked = this.#webhooks.get(key);
    const first = parked?.ranges[0];
    if (parked === undefined || first === undefined) return undefined;
    const { tracker } = parked;
    const isOn = (): boolean => parked.tracker === tracker && this.#webhooks.get(key) === parked;
    return {
      from: tracker.next,
      to: first.to,
      begin: (offset) => isOn() && this.#begin(key, parked, offset),
      settle: (offset, isDone) => {
        if (!isOn()) return; // its webhook was deleted meanwhile
        this.#replays.get(key)?.beyond.push({ offset, isDone });
        this.#settle(key, parked, offset);
      },
      passed: (offset) => {
        if (isOn()) this.#passed(key, parked, offset);
      },
    };
  }

  #begin(key: string, { ranges: [first], tracker }: Parked, offset: number): boolean {
    if (first === undefined || !isInside(first, offset)) return false;
    // For a replay, a dropped offset may be a record that was read again after a crash, which only looks like a duplicate.
    if (this.#dropped.has(offset) && !this.#replays.has(key)) return false;
    const cursor = tracker.highWater;
    const isTaken = tracker.accept(offset);
    // Skipped offsets count as read. The cursor must be written; otherwise dropped offsets below it are forgotten before it is
    // stored.
    if (tracker.highWater !== cursor) this.#changed.add(key);
    return isTaken;
  }

  #settle(key: string, parked: Parked, offset: number): void {
    parked.tracker.settle(offset);
    this.#changed.add(key);
    this.#advance(key, parked);
  }

  #passed(key: string, parked: Parked, offset: number): void {
    const last = Math.min(offset, parked.ranges[0]?.to ?? offset) - 1;
    if (last < parked.tracker.next) return;
    parked.tracker.accept(last);
    this.#settle(key, parked, last);
  }

  /** Upper bound of deliveries that wait in the log for parked webhooks. @param next the next offset to hand out */
  waiting(next: number): number {
    const parked = [...this.#webhooks].filter(([key]) => !this.#replays.has(key));
    return parked.reduce((sum, [, { ranges, tracker }]) => sum + offsetsIn(ranges, tracker.highWater, next), 0);
  }

  /** Number of records that were begun and are not settled. */
  get running(): number {
    let running = 0;
    for (const { tracker } of this.#webhooks.values()) running += tracker.running;
    return running;
  }

  get isWritten(): boolean {
    return this.#changed.size === 0 && this.#unwritten.length === 0 && this.#lostFrom === undefined;
  }

  /** Returns the changes since the last call; undefined without ranges and changes. @param next the next offset to hand out */
  take(next: number): ParkingWrite | undefined {
    if (this.#webhooks.size === 0 && this.isWritten) return undefined;
    const changed = new Map([...this.#changed].map((id) => [id, this.#ranges(id)]));
    const replays = new Map([...this.#changed].flatMap((key) => this.#counted(key)));
    const [dropped, notices, lostFrom] = [this.#unwritten, this.#notices, this.#lostFrom];
    this.#changed.clear();
    [this.#unwritten, this.#notices] = [[], []];
    this.#lostFrom = undefined;
    const keptFrom = this.#lowest === Infinity ? undefined : this.#lowest;
    for (const offset of this.#dropped) if (offset < (keptFrom ?? Infinity)) this.#dropped.delete(offset);
    // After a crash earlier records are read again, and `next` begins below those handed out before.
    return { changed, replays, dropped, notices, keptFrom, lostFrom, next: Math.max(next, this.#handedOut) };
  }

  /** Adds the changes of a failed write to the next one. */
  putBack({ changed, dropped, notices = [], lostFrom }: ParkingWrite): void {
    this.#lostFrom = lostFrom;
    this.#notices.unshift(...notices);
    for (const id of changed.keys()) this.#changed.add(id);
    this.#unwritten.unshift(...dropped);
  }

  #ranges(webhookId: string): readonly ParkedRange[] {
    const parked = this.#webhooks.get(webhookId);
    const [first, ...others] = parked?.ranges ?? [];
    if (parked === undefined || first === undefined) return [];
    return [{ from: Math.max(first.from, parked.tracker.highWater), to: first.to }, ...others];
  }

  #counted(key: string): [string, ReplayCounts][] {
    const replay = this.#replays.get(key);
    if (replay === undefined) return [];
    const cursor = this.#webhooks.get(key)?.tracker.highWater ?? Infinity;
    let { done, failed } = replay.counts;
    for (const { offset, isDone } of replay.beyond)
      if (offset < cursor && isDone) done += 1;
      else if (offset < cursor) failed += 1;
    replay.beyond = replay.beyond.filter(({ offset }) => offset >= cursor);
    replay.counts = { done, failed };
    return [[key, replay.counts]];
  }

  /** Returns the lowest offset that may still be delivered to a parked webhook; infinite without parked webhooks. */
  get #lowest(): number {
    let lowest = Infinity;
    for (const [key, { tracker, ranges }] of this.#webhooks)
      if (!this.#replays.has(key))
        lowest = Math.min(lowest, tracker.highWater, ...ranges.slice(1).map(({ from }) => from));
    return lowest;
  }

  /** Removes the ranges that are caught up. */
  #advance(webhookId: string, parked: Parked): void {
    const [first, second] = parked.ranges;
    if (first?.to === undefined || parked.tracker.highWater < first.to) return;
    if (second === undefined) {
      this.#webhooks.delete(webhookId);
      return;
    }
    parked.ranges.shift();
    parked.tracker = new Tracker(second.from);
    this.#advance(webhookId, parked);
  }
}
