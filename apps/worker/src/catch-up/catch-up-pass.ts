import type { EnvelopeRecord } from '@relay/events';
import type { CatchUpPartition, RangeCatchUp } from '../log/catch-up-partition.js';

/**
 * Ranges of parked webhooks and of replays are read in passes of their own, so that replays hold up no parked
 * webhook.
 */
export type PassKind = 'parked' | 'replays';

/** A delivery that a pass has found for a webhook or replay. */
export interface CatchUpDelivery {
  /** Range key of the webhook or replay. */
  readonly key: string;
  readonly webhookId: string;
  /** Number of the replay; 0 for a parked webhook. */
  readonly series: number;
  /** Id of the delivery. */
  readonly id: string;
  readonly record: EnvelopeRecord;
  /** Ids of its dead letters, for a replay of dead letters only. */
  readonly letters: readonly string[];
}

/** The deliveries of some records of a pass. */
export interface CatchUpBatch {
  readonly deliveries: readonly CatchUpDelivery[];
  /** Ids of the deliveries that became jobs before a crash, beyond the stored cursor. */
  readonly queued: ReadonlySet<string>;
}

/** Ends a pass early: reading restarted elsewhere, the partition left, the process stops, or no member is left. */
export class PassEnded extends Error {}

/** One reading of a part of the log for some of a partition's webhooks or replays. */
export class CatchUpPass {
  /** Milliseconds for which each webhook has held the pass up. */
  readonly heldUp = new Map<string, number>();
  /** Ids of the envelopes that the pass has met. */
  readonly ids = new Set<string>();

  constructor(
    readonly partition: CatchUpPartition,
    readonly kind: PassKind,
    /** Ranges by range key. A webhook or replay leaves when too many of its deliveries wait. */
    readonly members: Map<string, RangeCatchUp>,
    /** Whether no other webhook or replay waits for the next pass. */
    readonly isAlone: boolean,
    private readonly isStopped: () => boolean,
  ) {}

  /** @throws PassEnded when nothing more may be handed out */
  assertGoesOn(): void {
    if (this.isStopped() || !this.partition.goesOn) throw new PassEnded();
  }
}
