import { Tracker } from './tracker.js';

/** Offsets of a partition that wait in the log for one webhook: from `from` to before `to`, without `to` whatever comes. */
export interface ParkedRange {
  readonly from: number;
  readonly to?: number | undefined;
}

/** Deliveries of a replay that have ended below its cursor. */
export interface ReplayCounts {
  /** Delivered at once. */
  readonly done: number;
  /** Left to the retry queue, or dead letters. */
  readonly failed: number;
}

/** What the store knows of a partition's parked webhooks and replays. */
export interface Parking {
  /** By key (`range-key.ts`), in the order in which they are caught up. */
  readonly ranges: ReadonlyMap<string, readonly ParkedRange[]>;
  /** Of the replays among them. */
  readonly replays: ReadonlyMap<string, ReplayCounts>;
  /** Offsets inside a range whose record is a repeat or a conflict: nobody gets it. */
  readonly dropped: readonly number[];
  /** First offset that had not been handed out when this was written; 0 when nothing was. */
  readonly next: number;
}

/** What of it is to be written. */
export interface ParkingWrite {
  /** The keys whose ranges changed, each with all of its ranges. */
  readonly changed: ReadonlyMap<string, readonly ParkedRange[]>;
  /** Of the replays among them. */
  readonly replays: ReadonlyMap<string, ReplayCounts>;
  readonly dropped: readonly number[];
  /** Dropped offsets below this are of no use any more; undefined: none is. */
  readonly keptFrom: number | undefined;
  readonly next: number;
}

export const NOTHING_PARKED: Parking = { ranges: new Map(), replays: new Map(), dropped: [], next: 0 };

interface Parked {
  /** At most one is open. The first one is being caught up; its `from` is the cursor that was there when it was begun. */
  ranges: ParkedRange[];
  /** What of the first range is handed out and settled. */
  tracker: Tracker;
}

interface Replay {
  counts: ReplayCounts;
  /** Ended at or beyond the cursor: counted once the cursor has passed them, as a crash repeats what lies beyond it. */
  beyond: { readonly offset: number; readonly isDone: boolean }[];
}

/**
 * The first range of a webhook or a replay while it is caught up. What is said of it counts as long as it is the first: once
 * all of it is settled the next one begins, at its own start and with a turn of its own, or what lies before the place
 * where a pass happens to be would count as looked at.
 */
export interface Turn extends ParkedRange {
  /** Takes up the record at this offset; false when it does not wait here. */
  begin(offset: number): boolean;
  /** It was delivered (`isDone`), or its job is stored. */
  settle(offset: number, isDone: boolean): void;
  /** All below this offset was looked at: what was not taken up is not for it. */
  passed(offset: number): void;
}

/**
 * The parked webhooks of one partition: what is not delivered to them now but waits in the log, and how far they are
 * caught up. All of it is decided at the moment in which an offset is handed out, and written with the flush that says so.
 * A replay is such a range too, under a key of its own, of what was handed out long ago.
 */
export class ParkedRanges {
  readonly #webhooks = new Map<string, Parked>();
  /** All that were taken up, those that have ended among them: none is taken up twice. */
  readonly #replays = new Map<string, Replay>();
  readonly #dropped: Set<number>;
  readonly #changed = new Set<string>();
  #unwritten: number[] = [];
  /** Below this every repeat and conflict was remembered before; what reads as one now was settled by a dead worker. */
  readonly #handedOut: number;

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

  /** Takes up a replay that the store holds; one that is known already, or has ended, is left alone. */
  replay(key: string, ranges: readonly ParkedRange[], counts: ReplayCounts): void {
    const [first] = ranges;
    if (first === undefined || this.#replays.has(key)) return;
    this.#replays.set(key, { counts, beyond: [] });
    this.#webhooks.set(key, { ranges: [...ranges], tracker: new Tracker(first.from) });
  }

  isKnownReplay(key: string): boolean {
    return this.#replays.has(key);
  }

  /** Whether the record at this offset waits in the log for the webhook, or waited there. */
  isParked(webhookId: string, offset: number): boolean {
    return this.#webhooks.get(webhookId)?.ranges.some((range) => isInside(range, offset)) ?? false;
  }

  /**
   * From this offset on, which is the one being handed out, everything waits in the log for the webhook. Of what is read again
   * after a crash the record alone: it may lie before the range that is open, and repeats behind it were not remembered.
   */
  park(webhookId: string, offset: number): void {
    if (this.isParked(webhookId, offset)) return;
    const parked = this.#webhooks.get(webhookId);
    const isAlone = offset < this.#handedOut || parked?.ranges.some(({ to }) => to === undefined) === true;
    const range = isAlone ? { from: offset, to: offset + 1 } : { from: offset };
    if (parked === undefined) this.#webhooks.set(webhookId, { ranges: [range], tracker: new Tracker(offset) });
    else parked.ranges.push(range);
    this.#changed.add(webhookId);
  }

  /**
   * Nothing from this offset on, which is the next to hand out, waits in the log for the webhook. Unless it was handed out
   * before a crash: then it may be settled without it.
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

  /** The webhook is gone or the replay cancelled, and nothing waits for it any more. */
  forget(key: string): void {
    if (this.#webhooks.delete(key)) this.#changed.add(key);
  }

  /** The record at this offset, which is being handed out, is a repeat or a conflict. */
  drop(offset: number): void {
    if (offset < this.#handedOut || offset < this.#lowest) return;
    this.#dropped.add(offset);
    this.#unwritten.push(offset);
  }

  /** What is caught up next: the rest of the webhook's first range. */
  rest(webhookId: string): ParkedRange | undefined {
    const parked = this.#webhooks.get(webhookId);
    const first = parked?.ranges[0];
    return parked === undefined || first === undefined ? undefined : { from: parked.tracker.next, to: first.to };
  }

  /** Its first range, to be caught up; undefined when nothing waits for it. */
  turn(key: string): Turn | undefined {
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
    // What a crash lets be read again looks like a repeat, and was not remembered as handed out before the replay was ordered.
    if (this.#dropped.has(offset) && !this.#replays.has(key)) return false;
    const cursor = tracker.highWater;
    const isTaken = tracker.accept(offset);
    // What was passed over counts as looked at: written, or what was dropped there would be forgotten before the cursor moves.
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

  /** Deliveries that wait in the log for parked webhooks at most, with `next` as the next offset to hand out. */
  waiting(next: number): number {
    let waiting = 0;
    for (const [key, { ranges, tracker }] of this.#webhooks)
      for (const [index, { from, to = next }] of ranges.entries())
        if (!this.#replays.has(key))
          waiting += Math.max(0, to - (index === 0 ? Math.max(from, tracker.highWater) : from));
    return waiting;
  }

  /** What was taken up and is not settled. */
  get running(): number {
    let running = 0;
    for (const { tracker } of this.#webhooks.values()) running += tracker.running;
    return running;
  }

  get isWritten(): boolean {
    return this.#changed.size === 0 && this.#unwritten.length === 0;
  }

  /** What has changed since the last call; undefined when nothing is or was parked. @param next the next offset to hand out */
  take(next: number): ParkingWrite | undefined {
    if (this.#webhooks.size === 0 && this.isWritten) return undefined;
    const changed = new Map([...this.#changed].map((id) => [id, this.#ranges(id)]));
    const replays = new Map([...this.#changed].flatMap((key) => this.#counted(key)));
    const dropped = this.#unwritten;
    this.#changed.clear();
    this.#unwritten = [];
    const keptFrom = this.#lowest === Infinity ? undefined : this.#lowest;
    for (const offset of this.#dropped) if (offset < (keptFrom ?? Infinity)) this.#dropped.delete(offset);
    // After a crash what was handed out before is read again, and `next` begins below it.
    return { changed, replays, dropped, keptFrom, next: Math.max(next, this.#handedOut) };
  }

  /** It was not written: it belongs to the next write. */
  putBack({ changed, dropped }: ParkingWrite): void {
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

  /** The lowest offset that a parked webhook may still be caught up with; infinite when none is. */
  get #lowest(): number {
    let lowest = Infinity;
    for (const [key, { tracker, ranges }] of this.#webhooks)
      if (!this.#replays.has(key))
        lowest = Math.min(lowest, tracker.highWater, ...ranges.slice(1).map(({ from }) => from));
    return lowest;
  }

  /** Leaves the ranges behind that are caught up. */
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

const isInside = ({ from, to = Infinity }: ParkedRange, offset: number): boolean => from <= offset && offset < to;
