import { isReplay, type LogPartition, type ParkedRange, type ReplayCounts, type Tracker } from '@relay/progress';
import type { PendingWrites, StoreAgain } from './pending-writes.js';

/** A range of offsets while it is caught up. Its results are ignored once the range is settled (see `CatchUpRange`). */
export interface RangeCatchUp extends ParkedRange {
  /**
   * Starts a record. Returns undefined if the range does not contain the record. Otherwise, the caller must call the
   * returned function once the delivery is settled. If the delivery became a job, `repeat` stores that job again.
   */
  begin(offset: number): ((repeat?: StoreAgain) => void) | undefined;
  /** Marks all records below this offset as read for the range. */
  passed(offset: number): void;
}

/**
 * One partition while its parked webhooks and replays are caught up. It is valid until the reader of the partition restarts
 * at another offset. The reader writes the results with its own writes, so they are only stored while this worker owns the
 * partition.
 */
export class CatchUpPartition {
  constructor(
    readonly at: LogPartition,
    private readonly pending: PendingWrites,
    private readonly tracker: Tracker,
    private readonly reading: {
      /** Whether results are still accepted. False forever once the reader has restarted at another offset. */
      counts(): boolean;
      /**
       * Whether deliveries may start. False forever after the reader has restarted, the partition was assigned to another
       * worker, or its ownership was in doubt, even for a moment.
       */
      mayBegin(): boolean;
    },
  ) {}

  /** Returns the content hash of an envelope that is in flight, or is settled but not yet confirmed as written to Redis. */
  hashOf(envelopeId: string): string | undefined {
    return this.pending.hashOf(envelopeId);
  }

  get goesOn(): boolean {
    return this.reading.mayBegin();
  }

  /** Next offset that is dispatched to webhooks that are not parked. */
  get head(): number {
    return this.tracker.next;
  }

  /**
   * End of the gap without records that begins at `head`, or `head` itself if there is no gap. Webhooks and replays can
   * catch up to this offset, even if their range ends after `head`.
   */
  get emptyTo(): number {
    return this.tracker.emptyTo;
  }

  /** Ids of the parked webhooks. */
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
   * Upper bound of the deliveries that wait in the log for parked webhooks. If there are several shards, each one counts its
   * share of the offsets.
   */
  get waiting(): number {
    return this.goesOn ? this.pending.parked.waiting(this.head) / (this.at.shards ?? 1) : 0;
  }

  /**
   * Returns upper bounds of the waiting records that were lost because their topic was created again, by range key. Each
   * loss is returned once.
   */
  takeExpired(): ReadonlyMap<string, number> {
    return this.goesOn ? this.pending.parked.takeExpired() : new Map();
  }

  /** Adds a replay that was ordered. */
  replay(key: string, ranges: readonly ParkedRange[], counts: ReplayCounts): void {
    if (this.goesOn) this.pending.parked.replay(key, ranges, counts);
  }

  isKnownReplay(key: string): boolean {
    return this.pending.parked.isKnownReplay(key);
  }

  /** Returns the range that is caught up next for a webhook or replay. */
  rest(key: string): ParkedRange | undefined {
    return this.goesOn ? this.pending.parked.rest(key) : undefined;
  }

  /** Starts to catch up the first range of a webhook or replay. */
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
   * Ends the webhook's range at `head`. Later records are dispatched to the webhook as usual. The rest of the range is still
   * caught up.
   */
  close(webhookId: string): void {
    if (this.goesOn) this.pending.parked.close(webhookId, this.head);
  }

  /** Removes the ranges of a deleted webhook or a cancelled replay. */
  forget(key: string): void {
    if (this.goesOn) this.pending.parked.forget(key);
  }
}
