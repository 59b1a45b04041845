/** Offsets `[from, to)` of a partition that wait in the log for one webhook; without `to`, all further offsets. */
export interface ParkedRange {
  readonly from: number;
  readonly to?: number | undefined;
}

/** Ended deliveries of a replay below its cursor. */
export interface ReplayCounts {
  /** Delivered at once. */
  readonly done: number;
  /** Left to the retry queue, or dead letters. */
  readonly failed: number;
}

/** The stored ranges of a partition, of parked webhooks and replays. */
export interface Parking {
  /** Ranges by key (`range-key.ts`), in the order in which they are caught up. */
  readonly ranges: ReadonlyMap<string, readonly ParkedRange[]>;
  /** Counts of the replays among them. */
  readonly replays: ReadonlyMap<string, ReplayCounts>;
  /** Offsets inside a range whose record is a duplicate or a conflict: no webhook gets it. */
  readonly dropped: readonly number[];
  /** First offset that was not handed out when this was written; 0 before the first write. */
  readonly next: number;
}

/** Changes of the ranges to be written. */
export interface ParkingWrite {
  /** The keys whose ranges changed, each with all of its ranges. */
  readonly changed: ReadonlyMap<string, readonly ParkedRange[]>;
  /** Counts of the replays among them. */
  readonly replays: ReadonlyMap<string, ReplayCounts>;
  readonly dropped: readonly number[];
  /** Lines of notices about webhooks that this write parks. */
  readonly notices?: readonly string[];
  /** Dropped offsets below this are no longer needed; undefined when none is needed. */
  readonly keptFrom: number | undefined;
  /** Dropped offsets from here on are forgotten, because the log may have other records there than before. */
  readonly lostFrom?: number | undefined;
  readonly next: number;
}

export const NOTHING_PARKED: Parking = { ranges: new Map(), replays: new Map(), dropped: [], next: 0 };
