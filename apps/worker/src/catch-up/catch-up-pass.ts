import { type EventLoopUtilization, performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
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

/** Share of the event loop's time in use at which catch-ups rest, so that live deliveries find it idle often enough. */
const SHARE = 0.3;
/** `SHARE` without live deliveries. */
const SHARE_ALONE = 0.8;
/** Deliveries handed out in one go: few, because live deliveries wait for all of them. */
const BURST = 4;
/** `BURST` without live deliveries. The shortest rest is a millisecond or two, so the burst bounds the throughput. */
const BURST_ALONE = 32;
/** Longest rest in ms, however busy the worker is: catch-ups still make some 100 deliveries a second. */
const LONGEST_MS = 40;
/** Pause in ms before a pass, which connects and joins a group first. */
const GAP_MS = 100;

/** The event loop's time in milliseconds since an earlier reading, or since the start of the process. */
export type LoopTime = (since?: EventLoopUtilization) => EventLoopUtilization;

/**
 * Slows catch-ups and replays by how busy the worker is, so that live deliveries do not wait behind them (docs/adr/0014). All
 * passes of a worker share one throttle, because they share its event loop.
 */
export class CatchUpThrottle {
  #since: EventLoopUtilization;
  #left = BURST;
  #begun: Promise<void> = Promise.resolve();
  #resting: Promise<void> | undefined;

  constructor(
    /** Whether live deliveries are made at the same time. */
    private readonly isShared: () => boolean,
    private readonly loopTime: LoopTime = (since) => performance.eventLoopUtilization(since),
    private readonly rest: (ms: number) => Promise<void> = (ms) => delay(ms),
  ) {
    this.#since = loopTime();
  }

  /** Resolves when a delivery may be handed out or a few records may be read. Each call counts as one of the burst. */
  async next(): Promise<void> {
    while (this.#left === 0) await (this.#resting ??= this.#rest().finally(() => (this.#resting = undefined)));
    this.#left -= 1;
  }

  /** Runs a pass. It begins once the pass before it has called `begun` or has ended. */
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
