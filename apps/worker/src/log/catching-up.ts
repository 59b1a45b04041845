import type { LogPartition, ParkedRange, Tracker } from '@relay/progress';
import type { Repeat } from './log-chunk.js';
import type { PendingWrites } from './pending-writes.js';

/**
 * One partition while its parked webhooks are caught up, for as long as its reader goes on from one and the same
 * position. What is said here is written with the reader's flushes, so it counts only while the partition is ours.
 */
export class CatchingUp {
  constructor(
    readonly at: LogPartition,
    private readonly pending: PendingWrites,
    private readonly tracker: Tracker,
    private readonly reading: {
      /** False once reading began anew elsewhere: nothing that is said here counts then. */
      counts(): boolean;
      /** False as well when the partition left or may not be ours any more. */
      mayBegin(): boolean;
    },
  ) {}

  get goesOn(): boolean {
    return this.reading.mayBegin();
  }

  /** The next offset that is handed out to webhooks that are not parked. */
  get head(): number {
    return this.tracker.next;
  }

  get webhookIds(): readonly string[] {
    return this.goesOn ? this.pending.parked.webhookIds : [];
  }

  /** Deliveries that wait in the log for parked webhooks, at most. */
  get waiting(): number {
    return this.goesOn ? this.pending.parked.waiting(this.head) : 0;
  }

  /** What is to be handed out for a webhook next. */
  rest(webhookId: string): ParkedRange | undefined {
    return this.goesOn ? this.pending.parked.rest(webhookId) : undefined;
  }

  /**
   * Takes up a record for a webhook; undefined when it does not wait for it. To be called once it is settled, with what
   * stores its job again if it became one.
   */
  begin(webhookId: string, offset: number): ((repeat?: Repeat) => void) | undefined {
    if (!this.goesOn || !this.pending.parked.begin(webhookId, offset)) return undefined;
    return (repeat) => {
      if (!this.reading.counts()) return;
      if (repeat !== undefined) this.pending.added(repeat);
      this.pending.parked.settle(webhookId, offset);
    };
  }

  /** Everything below this offset was looked at for the webhook. */
  passed(webhookId: string, offset: number): void {
    if (this.goesOn) this.pending.parked.passed(webhookId, offset);
  }

  /** From the head on the webhook gets its deliveries straight again; the rest of its range is still caught up. */
  close(webhookId: string): void {
    if (this.goesOn) this.pending.parked.close(webhookId, this.head);
  }

  /** The webhook was deleted. */
  forget(webhookId: string): void {
    if (this.goesOn) this.pending.parked.forget(webhookId);
  }
}
