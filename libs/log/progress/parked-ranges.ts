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
  /**
   * At most one range is open. Catch-up works on the first range, whose `from` is the cursor at which this catch-up began.
   */
  ranges: ParkedRange[];
  /** Tracks which offsets of the first range are in progress and which are settled. */
  tracker: Tracker;
}

interface ReplayState {
  counts: ReplayCounts;
  /**
   * Deliveries that ended at or beyond the cursor. They are counted only after the cursor has passed them. After a crash
   * they are made again, so counting them earlier could count them twice.
   */
  beyond: { readonly offset: number; readonly isDone: boolean }[];
}

/**
 * The first range of a webhook or replay, while it is caught up. After this range is settled, the calls of this object have
 * no effect. The next range needs a `CatchUpRange` of its own, so that the cursor of this range is not applied to it.
 */
export interface CatchUpRange extends ParkedRange {
  /** Begins the delivery of the record at this offset. Returns false if the record does not wait in this range. */
  begin(offset: number): boolean;
  /**
   * Settles a record after it was delivered (`isDone` is true) or after its job or dead letter was stored (`isDone` is
   * false).
   */
  settle(offset: number, isDone: boolean): void;
  /** Marks all records below this offset as read. Records among them that were not begun do not belong to this range. */
  passed(offset: number): void;
}

/**
 * The ranges of one partition: which offsets wait in the log for parked webhooks, and how far catch-up has come in them.
 * Changes are kept in memory until the next flush writes them. A replay is stored as a range of earlier offsets under its
 * own key.
 */
export class ParkedRanges {
  readonly #webhooks = new Map<string, Parked>();
  /** All replays that this partition has begun. Ended ones are kept, so that no replay is begun twice. */
  readonly #replays = new Map<string, ReplayState>();
  readonly #dropped: Set<number>;
  readonly #changed = new Set<string>();
  #unwritten: number[] = [];
  #notices: string[] = [];
  /**
   * Every duplicate and conflict below this offset is already stored. If a record below it looks like a duplicate and is not
   * stored as one, it is the original record: a worker that has died settled it.
   */
  #handedOut: number;
  #lostFrom: number | undefined;
  /** Upper bounds for the number of waiting records that were lost with their log, by range key. */
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

  /**
   * Begins a stored replay. A replay that is already known stays unchanged. A replay without ranges is remembered as ended.
   */
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
   * Whether the record at this offset waits in the log for the webhook, or has waited for it in a range that still exists.
   * After a restart, only records that still wait are known, because a stored range begins at its cursor.
   */
  isParked(webhookId: string, offset: number): boolean {
    return this.#webhooks.get(webhookId)?.ranges.some((range) => isInside(range, offset)) ?? false;
  }

  /**
   * Parks the webhook: all records from this offset on wait in the log for it. The record at this offset is the one that is
   * dispatched now. If that record was already read before a crash, only this one record is parked. An open range could then
   * contain duplicates that were read before the crash and not stored.
   * @param notice notice to the partner, as a line that is stored together with the range
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
   * Closes the webhook's open range.
   * @param offset the next offset to dispatch, at which the range ends. The range ends later if records beyond it were
   *   already dispatched before a crash, because they may have been settled without a delivery to this webhook.
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
   * Shortens the ranges after Kafka has lost the end of the log, so that no closed range reaches beyond the new end. An
   * offset may now have another record than before. If a record that was read before the loss is read again, it looks like a
   * duplicate. Therefore duplicates below `end` are not stored as dropped, and stored drops from `sameBelow` on are removed.
   * @param end end of the log after the loss
   * @param sameBelow first offset that may have another record than before
   */
  cut(end: number, sameBelow: number): void {
    this.#change(end, sameBelow, (_key, ranges) => ranges.flatMap((range) => cutAt(end, range)));
  }

  /**
   * Replaces all ranges after the topic was deleted and created again, because the records of the old ranges no longer
   * exist. A webhook that had ranges now waits for all records of the new log up to `end`. A worker may already have
   * settled some of them as waiting, before it noticed that the topic is new. Replays end.
   * @param end end of the new log
   * @param next end of an open range, for counting the records that were lost
   */
  renew(end: number, next: number): void {
    for (const [key, { ranges, tracker }] of this.#webhooks)
      this.#expired.set(key, offsetsIn(ranges, tracker.highWater, next));
    this.#change(end, 0, (key, ranges) => (this.#replays.has(key) ? [] : renewed(end, ranges)));
  }

  /**
   * Returns, by range key, upper bounds for the number of waiting records that were lost with their log. Each bound is
   * returned only once.
   */
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

  /**
   * Stores that the record at this offset, which is dispatched now, is a duplicate or a conflict, so that no parked webhook
   * gets it.
   */
  drop(offset: number): void {
    if (offset < this.#handedOut || offset < this.#lowest) return;
    this.#dropped.add(offset);
    this.#unwritten.push(offset);
  }

  /** Returns the part of the webhook's first range that was not read yet; undefined without ranges. */
  rest(webhookId: string): ParkedRange | undefined {
    const parked = this.#webhooks.get(webhookId);
    const first = parked?.ranges[0];
    return parked === undefined || first === undefined ? undefined : { from: parked.tracker.next, to: first.to };
  }

  /** Returns the first range of this key for catch-up; undefined without ranges. */
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
        if (!isOn()) return; // the webhook was deleted, or the range has ended
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
    // A replay ignores drops: a record that was read again after a crash may have been stored as a duplicate by mistake.
    if (this.#dropped.has(offset) && !this.#replays.has(key)) return false;
    const cursor = tracker.highWater;
    const isTaken = tracker.accept(offset);
    // Skipped offsets count as read, so the cursor may have moved. The new cursor must be written together with the removal
    // of the dropped offsets below it.
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

  /**
   * Returns an upper bound for the number of deliveries that wait in the log for parked webhooks.
   * @param next the next offset to dispatch
   */
  waiting(next: number): number {
    const parked = [...this.#webhooks].filter(([key]) => !this.#replays.has(key));
    return parked.reduce((sum, [, { ranges, tracker }]) => sum + offsetsIn(ranges, tracker.highWater, next), 0);
  }

  /** Number of records that were begun and are not settled yet. */
  get running(): number {
    let running = 0;
    for (const { tracker } of this.#webhooks.values()) running += tracker.running;
    return running;
  }

  get isWritten(): boolean {
    return this.#changed.size === 0 && this.#unwritten.length === 0 && this.#lostFrom === undefined;
  }

  /**
   * Returns the changes since the last call; undefined if there are no ranges and no changes.
   * @param next the next offset to dispatch
   */
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
    // After a crash, records are read again, so `next` may be lower than the offsets that were dispatched before the crash.
    return { changed, replays, dropped, notices, keptFrom, lostFrom, next: Math.max(next, this.#handedOut) };
  }

  /** Adds the changes of a failed write to the next write. */
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

  /** The lowest offset that may still be delivered to a parked webhook; infinite if no webhook is parked. */
  get #lowest(): number {
    let lowest = Infinity;
    for (const [key, { tracker, ranges }] of this.#webhooks)
      if (!this.#replays.has(key))
        lowest = Math.min(lowest, tracker.highWater, ...ranges.slice(1).map(({ from }) => from));
    return lowest;
  }

  /** Removes the first ranges that are completely caught up. */
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
