import { NOTHING_PARKED, type ParkedRange, type Parking, type ParkingWrite, type ReplayCounts } from './parking.js';
import { cutAt, isInside, offsetsIn, renewed } from './range-offsets.js';
import { Tracker } from './tracker.js';

interface Parked {
  /** At most one is open. The first one is caught up; its `from` is its cursor when that was begun. */
  ranges: ParkedRange[];
  /** The running and settled offsets of the first range. */
  tracker: Tracker;
}

interface ReplayState {
  counts: ReplayCounts;
  /** Deliveries that ended at or beyond the cursor: counted once the cursor has passed them, since a crash repeats them. */
  beyond: { readonly offset: number; readonly isDone: boolean }[];
}

/**
 * The first range of a webhook or a replay while it is caught up. Calls have an effect only while the range is the first. Once
 * it is settled the next range begins at its own start, with a `CatchUpRange` of its own: a running pass would otherwise count
 * offsets before its position as looked at.
 */
export interface CatchUpRange extends ParkedRange {
  /** Begins the record at this offset; false when it does not wait here. */
  begin(offset: number): boolean;
  /** The record was delivered (`isDone`), or its job is stored. */
  settle(offset: number, isDone: boolean): void;
  /** Every record below this offset was looked at: those that were not begun are not for this range. */
  passed(offset: number): void;
}

/**
 * The ranges of one partition: the offsets that wait in the log for parked webhooks, and how far they are caught up. A range
 * changes at the moment in which an offset is handed out, and is written with the flush that covers that offset. A replay is a
 * range of earlier offsets, under a key of its own.
 */
export class ParkedRanges {
  readonly #webhooks = new Map<string, Parked>();
  /** All replays that were begun, ended ones included: none is begun twice. */
  readonly #replays = new Map<string, ReplayState>();
  readonly #dropped: Set<number>;
  readonly #changed = new Set<string>();
  #unwritten: number[] = [];
  #notices: string[] = [];
  /** Below this offset every duplicate and conflict was stored before; a new one there was settled by a dead worker. */
  #handedOut: number;
  #lostFrom: number | undefined;
  /** Records that waited in a log that is gone, by range key, at most. */
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

  /** Begins a stored replay; a known one stays unchanged. One without ranges has ended here, and is known from now on. */
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
   * Whether the record at this offset waits in the log for the webhook, or waited there. After a restart only the first is known:
   * a stored range begins at its cursor.
   */
  isParked(webhookId: string, offset: number): boolean {
    return this.#webhooks.get(webhookId)?.ranges.some((range) => isInside(range, offset)) ?? false;
  }

  /**
   * From this offset on, the one that is handed out now, every record waits in the log for the webhook. A record that is read
   * again after a crash is parked alone: it may lie before the open range, and duplicates behind it were not stored.
   * @param notice line that tells its partner, stored with the range
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
   * From this offset on, the next one to hand out, no record waits in the log for the webhook, except records that were handed
   * out before a crash: those may be settled without it.
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
   * Kafka lost the end of the log: no range reaches beyond its new `end`. From `sameBelow` on other records may stand than were
   * read. What was read and is read again looks like a repeat, so all of it counts as handed out, and no drop there holds.
   */
  cut(end: number, sameBelow: number): void {
    this.#change(end, sameBelow, (_key, ranges) => ranges.flatMap((range) => cutAt(end, range)));
  }

  /**
   * The topic was created anew: all ranges are of a log that is gone. A webhook that has some gets all of the new log up to its
   * `end` that way, because what was read of it, up to `next`, before this was known may be settled as waiting. Replays end.
   */
  renew(end: number, next: number): void {
    for (const [key, { ranges, tracker }] of this.#webhooks)
      this.#expired.set(key, offsetsIn(ranges, tracker.highWater, next));
    this.#change(end, 0, (key, ranges) => (this.#replays.has(key) ? [] : renewed(end, ranges)));
  }

  /** How many records that waited are gone with their log, at most, by range key; told once. */
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

  /** The record at this offset, the one that is handed out now, is a duplicate or a conflict. */
  drop(offset: number): void {
    if (offset < this.#handedOut || offset < this.#lowest) return;
    this.#dropped.add(offset);
    this.#unwritten.push(offset);
  }

  /** The rest of the webhook's first range, which is caught up next. */
  rest(webhookId: string): ParkedRange | undefined {
    const parked = this.#webhooks.get(webhookId);
    const first = parked?.ranges[0];
    return parked === undefined || first === undefined ? undefined : { from: parked.tracker.next, to: first.to };
  }

  /** The first range of this key, to be caught up; undefined without ranges. */
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
    // For a replay, a dropped offset may be a record that a crash let be read again, which only looks like a duplicate.
    if (this.#dropped.has(offset) && !this.#replays.has(key)) return false;
    const cursor = tracker.highWater;
    const isTaken = tracker.accept(offset);
    // Skipped offsets count as looked at. The cursor must be written, or dropped offsets below it would be forgotten before.
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

  /** The changes since the last call; undefined without ranges. @param next the next offset to hand out */
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

  /** The write failed: its changes belong to the next one. */
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

  /** The lowest offset that may still be delivered to a parked webhook; infinite without parked webhooks. */
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
