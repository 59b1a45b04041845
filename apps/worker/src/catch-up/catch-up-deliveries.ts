import { Inject, Injectable } from '@nestjs/common';
import { newJob } from '@relay/jobs';
import { RetryQueue } from '@relay/retry';
import type { Webhook } from '@relay/webhooks';
import { CatchUpCandidates } from './catch-up-candidates.js';
import {
  type CatchUpBatch,
  type CatchUpDelivery,
  type CatchUpPass,
  CatchUpThrottle,
  PassEnded,
} from './catch-up-pass.js';
import { DeliveryDispatcher } from '../delivery/delivery-dispatcher.js';
import { FailedDeliveries } from '../replays/failed-deliveries.js';

/** Total time in ms for which one webhook may delay a pass while other webhooks of the partition wait for the next pass. */
const HOLD_UP_MS = 5_000;
/**
 * Maximum of deliveries to one webhook that are in flight or wait for its endpoint. A healthy endpoint handles that many.
 */
const AT_ONCE = 64;

/** Settles a delivery whose dead letter could not be replayed. It stores nothing, because the dead letter stays as it is. */
const NOT_MADE = (): Promise<void> => Promise.resolve();

/** Dispatches the deliveries of a pass or turns them into jobs, as far as their webhooks have places in the queue. */
@Injectable()
export class CatchUpDeliveries {
  readonly #pending = new DeliveriesInFlight();

  constructor(
    private readonly candidates: CatchUpCandidates,
    @Inject(CatchUpThrottle) private readonly throttle: Pick<CatchUpThrottle, 'next'>,
    @Inject(DeliveryDispatcher) private readonly dispatcher: Pick<DeliveryDispatcher, 'room' | 'dispatch'>,
    @Inject(FailedDeliveries) private readonly failed: Pick<FailedDeliveries, 'replay'>,
    @Inject(RetryQueue) private readonly queue: Pick<RetryQueue, 'add'>,
  ) {}

  /** Wakes the passes that wait for a delivery to end, so that they check whether they must stop. */
  wake(): void {
    this.#pending.wake();
  }

  /** @throws PassEnded */
  async handOut(pass: CatchUpPass, { deliveries, queued }: CatchUpBatch): Promise<void> {
    for (const delivery of deliveries)
      if (pass.members.has(delivery.key)) await this.#handOut(pass, delivery, queued.has(delivery.id));
  }

  async #handOut(pass: CatchUpPass, delivery: CatchUpDelivery, isQueued: boolean): Promise<void> {
    const { members } = pass;
    const { key, record, series } = delivery;
    await this.throttle.next();
    const webhook = this.candidates.isPaused(key) ? undefined : await this.#admitted(pass, delivery);
    if (webhook === undefined) {
      members.delete(key);
      if (members.size === 0) throw new PassEnded();
      return;
    }
    for (let room = this.dispatcher.room(); room !== undefined; room = this.dispatcher.room()) await room;
    pass.assertGoesOn();
    const settled = members.get(key)?.begin(record.record.offset);
    if (settled === undefined) return;
    const bytes = record.envelope.bytes.length;
    if (delivery.letters.length > 0) {
      const isMade = await this.failed.replay(delivery.letters);
      if (isMade) this.candidates.queued(webhook.id, bytes);
      settled(isMade ? undefined : NOT_MADE);
      return;
    }
    if (isQueued) {
      settled(() => this.queue.add({ job: newJob(webhook, record, series), at: Date.now() }));
      return;
    }
    this.#pending.begun(webhook.id);
    const settle = (again?: () => Promise<void>): void => {
      this.#pending.ended(webhook.id);
      if (again !== undefined) this.candidates.queued(webhook.id, bytes);
      settled(again);
    };
    this.dispatcher.dispatch({ webhook, record, series, isCaughtUp: true, settle });
  }

  /**
   * Waits until the webhook may get one more delivery and returns its current registration. Returns undefined if the webhook
   * may get nothing for now, or has delayed the pass for too long.
   */
  async #admitted(pass: CatchUpPass, { key, webhookId }: CatchUpDelivery): Promise<Webhook | undefined> {
    const { isAlone, heldUp } = pass;
    for (;;) {
      const admitted = this.candidates.admit(key, this.#pending.of(webhookId), AT_ONCE);
      const held = heldUp.get(webhookId) ?? 0;
      if (admitted === undefined || (!isAlone && held > HOLD_UP_MS)) return undefined;
      if (admitted.kind === 'go') return admitted.webhook;
      const since = performance.now();
      await this.#pending.change();
      heldUp.set(webhookId, held + performance.now() - since);
      pass.assertGoesOn();
    }
  }
}

/** Counts the deliveries in flight of each webhook. */
export class DeliveriesInFlight {
  readonly #byWebhook = new Map<string, number>();
  #waiters: (() => void)[] = [];

  of(webhookId: string): number {
    return this.#byWebhook.get(webhookId) ?? 0;
  }

  begun(webhookId: string): void {
    this.#byWebhook.set(webhookId, this.of(webhookId) + 1);
  }

  ended(webhookId: string): void {
    const left = this.of(webhookId) - 1;
    if (left === 0) this.#byWebhook.delete(webhookId);
    else this.#byWebhook.set(webhookId, left);
    this.wake();
  }

  /** Resolves when a delivery to any webhook ends or `wake` is called. */
  change(): Promise<void> {
    return new Promise((resolve) => this.#waiters.push(resolve));
  }

  /** Resolves all promises that `change` has returned. */
  wake(): void {
    for (const resolve of this.#waiters.splice(0)) resolve();
  }
}
