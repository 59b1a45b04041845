import { type EventLoopUtilization, performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import type { EnvelopeRecord } from '@relay/events';
import type { CatchUpPartition, RangeCatchUp } from '../log/catch-up-partition.js';

/** Parked webhooks and replays are read in separate passes, so that a replay does not delay a parked webhook. */
export type PassKind = 'parked' | 'replays';

/** A delivery that a pass has found for a webhook or replay. */
export interface CatchUpDelivery {
  /** Range key of the webhook or replay. */
  readonly key: string;
  readonly webhookId: string;
  /** Number of the replay, or 0 for a parked webhook. */
  readonly series: number;
  /** Id of the delivery. */
  readonly id: string;
  readonly record: EnvelopeRecord;
  /** Ids of the dead letters of this delivery. Empty unless the replay is limited to dead letters. */
  readonly letters: readonly string[];
}

/** Deliveries that were found in some records of a pass. */
export interface CatchUpBatch {
  readonly deliveries: readonly CatchUpDelivery[];
  /**
   * Ids of the deliveries that already have a job, because a worker crashed after it stored the job but not its position.
   */
  readonly queued: ReadonlySet<string>;
}

/** Thrown to end a pass early, for example because the process stops or the partition was assigned to another worker. */
export class PassEnded extends Error {}

/** One pass over a part of the log, for some of the parked webhooks or replays of a partition. */
export class CatchUpPass {
  /** Milliseconds for which each webhook has delayed the pass. */
  readonly heldUp = new Map<string, number>();
  /** Ids of the envelopes that the pass has read. */
  readonly ids = new Set<string>();

  constructor(
    readonly partition: CatchUpPartition,
    readonly kind: PassKind,
    /** Ranges by range key. A webhook or replay is removed if it may get no more deliveries for now. */
    readonly members: Map<string, RangeCatchUp>,
    /** Whether the partition has no other webhook or replay to catch up. */
    readonly isAlone: boolean,
    private readonly isStopped: () => boolean,
  ) {}

  /** @throws PassEnded if the pass may make no more deliveries */
  assertGoesOn(): void {
    if (this.isStopped() || !this.partition.goesOn) throw new PassEnded();
  }
}

/** Utilization of the event loop at which catch-ups pause, so that live deliveries find the event loop idle often enough. */
const SHARE = 0.3;
/** Replaces `SHARE` while there are no live deliveries. */
const SHARE_ALONE = 0.8;
/** Number of deliveries that are dispatched without a pause. It is small, because live deliveries wait for all of them. */
const BURST = 4;
/**
 * Replaces `BURST` while there are no live deliveries. A pause takes at least 1 to 2 ms, so the burst limits the throughput.
 */
const BURST_ALONE = 32;
/** Longest pause in ms, however busy the worker is. Catch-ups therefore still make about 100 deliveries a second. */
const LONGEST_MS = 40;
/** Pause in ms before each pass, because a pass begins with a new connection and a join of a consumer group. */
const GAP_MS = 100;

/** Returns the utilization of the event loop since an earlier result, or since the start of the process. */
export type LoopTime = (since?: EventLoopUtilization) => EventLoopUtilization;

/**
 * Slows down catch-ups and replays while the worker is busy, so that live deliveries do not wait for them (docs/adr/0014).
 * All passes of a worker share one throttle, because they share its event loop.
 */
export class CatchUpThrottle {
  #since: EventLoopUtilization;
  #left = BURST;
  #begun: Promise<void> = Promise.resolve();
  #resting: Promise<void> | undefined;

  constructor(
    /** Whether there are live deliveries at the moment. */
    private readonly isShared: () => boolean,
    private readonly loopTime: LoopTime = (since) => performance.eventLoopUtilization(since),
    private readonly rest: (ms: number) => Promise<void> = (ms) => delay(ms),
  ) {
    this.#since = loopTime();
  }

  /**
   * Resolves when a delivery may be dispatched or a few records may be read. Each call counts as one delivery of a burst.
   */
  async next(): Promise<void> {
    while (this.#left === 0) await (this.#resting ??= this.#rest().finally(() => (this.#resting = undefined)));
    this.#left -= 1;
  }

  /** Runs a pass. It starts once the previous pass has called `begun` or has ended. */
  async pass(run: (begun: () => void) => Promise<void>): Promise<void> {
    const before = this.#begun;
    let begun = (): void => undefined;
    this.#begun = new Promise((resolve) => (begun = resolve));
    try {
      await before;
      await this.rest(GAP_MS);
      await run(begun);
    } finally {
      begun();
    }
  }

  async #rest(): Promise<void> {
    const isShared = this.isShared();
    const share = isShared ? SHARE : SHARE_ALONE;
    for (let rested = 0; rested < LONGEST_MS;) {
      const { active, idle } = this.loopTime(this.#since);
      const missing = Math.min(Math.ceil(active / share - active - idle), LONGEST_MS - rested);
      if (missing <= 0) break;
      await this.rest(missing);
      rested += missing;
    }
    this.#since = this.loopTime();
    this.#left = isShared ? BURST : BURST_ALONE;
  }
}
