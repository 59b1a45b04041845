import { Inject, Injectable } from '@nestjs/common';
import { readRangeKey } from '@relay/progress';
import { RedisWebhookView, type Webhook } from '@relay/webhooks';
import type { CatchUpPartition, RangeCatchUp } from '../log/catch-up-partition.js';
import { ReadingPause } from '../log/reading-pause.js';
import { ParkingRule, WaitingCounts } from '../parking/parking-rule.js';
import { ReplayOrders } from '../replays/replay-orders.js';

/** Number of offsets that one pass reads. A webhook that becomes ready during a pass joins the next one. */
export const PASS_OFFSETS = 5_000;

interface Range {
  /** Offset at which the pass continues to read for this webhook or replay. */
  readonly from: number;
}

/**
 * Returns the webhooks or replays of a partition that share the next pass, and the offset at which the pass begins. They
 * take turns as `first`, so that each of them makes progress. The pass also includes ranges that begin up to half a pass
 * before `first`. Ranges that begin even earlier are left out, because a pass marks all offsets up to its end as read.
 * @param able ranges by range key
 * @param before `first` of the previous pass
 */
export function passMembers<T extends Range>(
  able: ReadonlyMap<string, T>,
  before: string | undefined,
  length = PASS_OFFSETS,
): { first: string | undefined; members: Map<string, T>; from: number } {
  const keys = [...able.keys()];
  const first = keys[(keys.indexOf(before ?? '') + 1) % keys.length];
  const middle = able.get(first ?? '')?.from ?? Infinity;
  const starts = [...able.values()].map((range) => range.from).filter((start) => start > middle - length / 2);
  const from = Math.min(...starts);
  const members = new Map([...able].filter(([, range]) => range.from >= from && range.from < from + length));
  return { first, members, from };
}

/**
 * Maximum distance in offsets from `head` at which a range is closed, so that its webhook gets new records directly again.
 * On a busy partition a range comes no closer, because each pass takes seconds.
 */
const NEAR = PASS_OFFSETS;

/** Decides which webhooks and replays may be caught up now, and how many deliveries of each may be in flight. */
@Injectable()
export class CatchUpCandidates {
  constructor(
    @Inject(RedisWebhookView) private readonly webhooks: Pick<RedisWebhookView, 'refresh' | 'find'>,
    @Inject(ParkingRule) private readonly rule: Pick<ParkingRule, 'isDue' | 'room'>,
    @Inject(WaitingCounts) private readonly counts: Pick<WaitingCounts, 'of' | 'added'>,
    @Inject(ReplayOrders) private readonly replays: Pick<ReplayOrders, 'isPaused'>,
    @Inject(ReadingPause) private readonly pause: Pick<ReadingPause, 'isPaused'>,
  ) {}

  /** Whether catch-ups must pause. They pause together with the reading of the log, because both add jobs to the queue. */
  get isReadingPaused(): boolean {
    return this.pause.isPaused;
  }

  async refresh(): Promise<void> {
    await this.webhooks.refresh();
  }

  /**
   * Returns the ranges to catch up now, by range key. In addition, removes the ranges of deleted webhooks, and closes ranges
   * that are close to `head` (see `NEAR`).
   */
  of(partition: CatchUpPartition, keys: readonly string[]): Map<string, RangeCatchUp> {
    const able = new Map<string, RangeCatchUp>();
    for (const key of keys) {
      const { webhookId } = readRangeKey(key);
      const webhook = this.webhooks.find(webhookId);
      if (webhook === undefined) {
        partition.forget(key);
        continue;
      }
      // At least half of the webhook's places in the queue must be free. Otherwise, each delivery that ends starts another
      // pass, and reading the log again costs more than a single delivery gains.
      if (this.replays.isPaused(key) || this.#waiting(webhookId) >= this.rule.room(webhook) / 2) continue;
      const rest = partition.rest(key);
      if (rest === undefined) continue;
      if (rest.to === undefined && partition.head - rest.from <= NEAR && !this.rule.isDue(webhook))
        partition.close(key);
      const range = partition.catchUp(key);
      if (range !== undefined) able.set(key, range);
    }
    return able;
  }

  /**
   * Returns whether one more delivery to the webhook may be dispatched. `wait` means that some of its deliveries in flight
   * must end first. Undefined means that it may get no delivery for now.
   * @param running number of deliveries in flight to the webhook
   */
  admit(
    key: string,
    running: number,
    maxRunning: number,
  ): { kind: 'go'; webhook: Webhook } | { kind: 'wait' } | undefined {
    const { webhookId } = readRangeKey(key);
    const webhook = this.webhooks.find(webhookId);
    if (webhook === undefined) return undefined;
    const [waiting, room] = [this.#waiting(webhookId), this.rule.room(webhook)];
    if (waiting >= room) return undefined;
    return running < maxRunning && waiting + running < room ? { kind: 'go', webhook } : { kind: 'wait' };
  }

  isPaused(key: string): boolean {
    return this.replays.isPaused(key);
  }

  /** Adds a delivery that became a job to the number of waiting deliveries. */
  queued(webhookId: string, bytes: number): void {
    this.counts.added(webhookId, bytes);
  }

  #waiting(webhookId: string): number {
    return this.counts.of(webhookId).deliveries;
  }
}
