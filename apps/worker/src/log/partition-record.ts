import type { SeenEntry } from '@relay/dedupe';
import type { ParkedRanges, PartialMark, Tracker } from '@relay/progress';
import type { RecordHandle, StoreAgain } from './log-chunk.js';
import type { PendingWrites } from './pending-writes.js';

/** A record of a partition that this worker reads. Its outcome counts only until reading restarts elsewhere. */
export class PartitionRecord implements RecordHandle {
  /** Ranges that were current when the record began; a restart makes new ones. */
  readonly #parked: ParkedRanges;
  readonly #restarts: number;

  constructor(
    private readonly offset: number,
    readonly isReadAgain: boolean,
    private readonly reader: { readonly restarts: number },
    private readonly tracker: Tracker,
    private readonly pending: PendingWrites,
  ) {
    this.#parked = pending.parked;
    this.#restarts = reader.restarts;
  }

  get #isCurrent(): boolean {
    return this.#restarts === this.reader.restarts;
  }

  isParked(webhookId: string): boolean {
    return this.#parked.isParked(webhookId, this.offset);
  }

  park(webhookId: string, notice?: string): void {
    this.#parked.park(webhookId, this.offset, notice);
  }

  markDuplicate(): void {
    this.#parked.drop(this.offset);
  }

  added(again: StoreAgain): void {
    if (this.#isCurrent) this.pending.added(again);
  }

  begun(entry: SeenEntry): void {
    if (this.#isCurrent) this.pending.begun(entry);
  }

  marked(mark: PartialMark): void {
    if (this.#isCurrent) this.pending.marked(mark);
  }

  webhookSettled(envelopeId: string, webhookId: string): void {
    if (this.#isCurrent) this.pending.webhookSettled(envelopeId, webhookId);
  }

  settled(mark?: SeenEntry): void {
    if (!this.#isCurrent) return;
    this.tracker.settle(this.offset);
    if (mark !== undefined) this.pending.settled(mark);
  }
}
