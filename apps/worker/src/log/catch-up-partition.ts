import { isReplay, type LogPartition, type ParkedRange, type ReplayCounts, type Tracker } from '@relay/progress';
import type { PendingWrites, StoreAgain } from './pending-writes.js';

/** A range while it is handed out. Its results count until all of it is settled (see `CatchUpRange`). */
export interface RangeCatchUp extends ParkedRange {
  /**
   * Takes up a record; returns undefined if the range does not contain it. The caller calls the result once the delivery is
   * settled, with the step that stores its job again if it became one.
   */
  begin(offset: number): ((repeat?: StoreAgain) => void) | undefined;
  /** Marks every record below this offset as read for the range. */
  passed(offset: number): void;
}

/**
 * One partition while its parked webhooks are caught up and its replays delivered, until its reader restarts at another offset.
 * The reader's flushes write the results, so they count only while this worker owns the partition.
 */
export class CatchUpPartition {
  constructor(
    readonly at: LogPartition,
    private readonly pending: PendingWrites,
    private readonly tracker: Tracker,
    private readonly reading: {
      /** False once reading restarted elsewhere: no result counts then. */
      counts(): boolean;
      /** False for good once reading restarted, the partition left, or its ownership was in doubt for a moment. */
      mayBegin(): boolean;
    },
  ) {}

  /** The content hash of an envelope that runs here, or is settled and not known to be marked yet. */
  hashOf(envelopeId: string): string | undefined {
    return this.pending.hashOf(envelopeId);
  }

  get goesOn(): boolean {
    return this.reading.mayBegin();
  }

  /** The next offset that is handed out to webhooks that are not parked. */
  get head(): number {
    return this.tracker.next;
  }

  /** Offset up to which ranges that end beyond the head can be caught up: from the head to here the log holds no record. */
  get emptyTo(): number {
    return this.tracker.emptyTo;
  }

  /** The parked webhooks. */
  get webhookIds(): readonly string[] {
    return this.#keys.filter((key) => !isReplay(key));
  }

  /** Range keys of the replays. */
  get replayKeys(): readonly string[] {
    return this.#keys.filter(isReplay);
  }

  get #keys(): readonly string[] {
    return this.goesOn ? this.pending.parked.keys : [];
  }

  /**
   * Upper bound of the deliveries that wait in the log for parked webhooks. With several shards, each counts its share of the
   * offsets.
   */
  get waiting(): number {
    return this.goesOn ? this.pending.parked.waiting(this.head) / (this.at.shards ?? 1) : 0;
  }

  /**
   * Upper bounds of the waiting records that are gone because their topic was created again, by range key. Each is returned once.
   */
  takeExpired(): ReadonlyMap<string, number> {
    return this.goesOn ? this.pending.parked.takeExpired() : new Map();
  }

  /** Adds an ordered replay. */
  replay(key: string, ranges: readonly ParkedRange[], counts: ReplayCounts): void {
    if (this.goesOn) this.pending.parked.replay(key, ranges, counts);
  }

  isKnownReplay(key: string): boolean {
    return this.pending.parked.isKnownReplay(key);
  }

  /** Returns the range to hand out next for a webhook or replay. */
  rest(key: string): ParkedRange | undefined {
    return this.goesOn ? this.pending.parked.rest(key) : undefined;
  }

  /** Takes the first range of a webhook or replay, to hand it out. */
  catchUp(key: string): RangeCatchUp | undefined {
    const range = this.goesOn ? this.pending.parked.catchUp(key) : undefined;
    if (range === undefined) return undefined;
    return {
      from: range.from,
      to: range.to,
      begin: (offset) => {
        if (!this.goesOn || !range.begin(offset)) return undefined;
        return (repeat) => {
          if (!this.reading.counts()) return;
          if (repeat !== undefined) this.pending.added(repeat);
          range.settle(offset, repeat === undefined);
        };
      },
      passed: (offset) => {
        if (this.goesOn) range.passed(offset);
      },
    };
  }

  /**
   * Closes the webhook's range at the head. Later records are straight deliveries again; the rest of the range is still caught
   * up.
   */
  close(webhookId: string): void {
    if (this.goesOn) this.pending.parked.close(webhookId, this.head);
  }

  /** Forgets a deleted webhook or a cancelled replay. */
  forget(key: string): void {
    if (this.goesOn) this.pending.parked.forget(key);
  }
}
