import { Inject, Injectable } from '@nestjs/common';
import { readRangeKey } from '@relay/progress';
import { RedisWebhookView, type Webhook } from '@relay/webhooks';
import type { CatchUpPartition, RangeCatchUp } from '../log/catch-up-partition.js';
import { ReadingPause } from '../log/reading-pause.js';
import { ParkingRule, WaitingCounts } from '../parking/parking-rule.js';
import { ReplayOrders } from '../replays/replay-orders.js';

/** Offsets read in one pass. Webhooks that may be caught up meanwhile join the next pass. */
export const PASS_OFFSETS = 5_000;

interface Range {
  /** Offset at which the range continues. */
  readonly from: number;
}

/**
 * Returns the webhooks or replays of a partition that share the next pass, and the offset at which it begins. A pass is for one
 * of them, `first`. They take turns, so none waits until another has caught up with it. The pass includes ranges that begin up to
 * half a pass before `first`. It leaves out ranges further behind; otherwise their gap counts as read.
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

/** A range this many offsets from the head is closed. A pass takes seconds, so on a busy partition no range comes closer. */
const NEAR = PASS_OFFSETS;

/** Decides which webhooks and replays may be caught up now, and how many of their deliveries at once. */
@Injectable()
export class CatchUpCandidates {
  constructor(
    @Inject(RedisWebhookView) private readonly webhooks: Pick<RedisWebhookView, 'refresh' | 'find'>,
    @Inject(ParkingRule) private readonly rule: Pick<ParkingRule, 'isDue' | 'room'>,
    @Inject(WaitingCounts) private readonly counts: Pick<WaitingCounts, 'of' | 'added'>,
    @Inject(ReplayOrders) private readonly replays: Pick<ReplayOrders, 'isPaused'>,
    @Inject(ReadingPause) private readonly pause: Pick<ReadingPause, 'isPaused'>,
  ) {}

  /** Catch-ups pause with the reading, because both fill the queue. */
  get isReadingPaused(): boolean {
    return this.pause.isPaused;
  }

  async refresh(): Promise<void> {
    await this.webhooks.refresh();
  }

  /** Returns the ranges to catch up now, by range key. Forgets deleted webhooks, and closes ranges that are close to the head. */
  of(partition: CatchUpPartition, keys: readonly string[]): Map<string, RangeCatchUp> {
    const able = new Map<string, RangeCatchUp>();
    for (const key of keys) {
      const { webhookId } = readRangeKey(key);
      const webhook = this.webhooks.find(webhookId);
      if (webhook === undefined) {
        partition.forget(key);
        continue;
      }
      // Half of the room must be free; otherwise the log is read again for each delivery that ends, which costs more than it
      // gains.
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
   * Returns whether one more delivery may be handed out while `running` deliveries of its webhook run: `wait` if some of them
   * must end first, undefined if the webhook may get nothing for now.
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

  /** Counts a delivery that became a job. */
  queued(webhookId: string, bytes: number): void {
    this.counts.added(webhookId, bytes);
  }

  #waiting(webhookId: string): number {
    return this.counts.of(webhookId).deliveries;
  }
}
