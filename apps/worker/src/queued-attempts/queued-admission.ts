import { Injectable } from '@nestjs/common';
import { deliveryId } from '@relay/delivery';
import type { StoredJob } from '@relay/jobs';
import type { OpenedWebhook, Webhook } from '@relay/webhooks';
import { Breakers, NO_PROBE, type Probe } from '../delivery/breakers.js';
import { EndpointReports, type Attempted } from '../delivery/attempt-reports.js';
import { EndpointSlots } from '../delivery/endpoint-slots.js';
import { UnopenedWebhooks } from '../delivery/unopened-webhooks.js';
import { UnprovenOrigins } from '../delivery/unproven-origins.js';

/** Whether a delivery that has a slot may be attempted; otherwise the reason why not, and when to come again. */
export type QueuedEntry =
  | { readonly kind: 'go'; readonly probe: Probe }
  /** The origin has never answered 2xx: at `at` the delivery has its turn, or asks again. */
  | { readonly kind: 'turn-later'; readonly at: number; readonly hasTurn: boolean }
  /** The breaker of its webhook or of its endpoint is open. */
  | { readonly kind: 'later'; readonly at: number };

/**
 * Admits a queued attempt: takes its slot, the turn of its origin and the probe of the breakers. Slot and probe are handed back
 * after the attempt.
 */
@Injectable()
export class QueuedAdmission {
  constructor(
    private readonly slots: EndpointSlots,
    private readonly breakers: Breakers,
    private readonly origins: UnprovenOrigins,
    private readonly reports: EndpointReports,
    private readonly unopened: UnopenedWebhooks,
  ) {}

  /** See `UnopenedWebhooks.open`. */
  open(webhook: Webhook): Promise<OpenedWebhook | number | undefined> {
    return this.unopened.open(webhook);
  }

  /** Takes a slot. @returns undefined if it has one, otherwise epoch milliseconds at which to come again */
  takeSlot(webhook: Webhook): number | undefined {
    const now = Date.now();
    const rests = this.breakers.restsUntil(webhook, now);
    if (rests !== undefined) return rests;
    const slot = this.slots.take(webhook, this.breakers.isBarred(webhook, now));
    return slot.taken ? undefined : slot.at;
  }

  /**
   * Takes turn and probe, after the slot: otherwise a claimed probe that finds no slot keeps all other deliveries waiting. The
   * turn comes before the probe for the same reason.
   */
  async enter(webhook: Webhook, job: StoredJob): Promise<QueuedEntry> {
    const turn = await this.origins.enter(webhook, { id: deliveryId(job), hasTurn: job.hasTurn === true });
    if (!turn.mayGo) return { kind: 'turn-later', at: turn.at, hasTurn: turn.hasTurn };
    const entry = await this.breakers.enter(webhook);
    return entry.mayGo ? { kind: 'go', probe: entry.probe } : { kind: 'later', at: entry.at };
  }

  /** Hands the slot back. An aborted attempt says nothing about the endpoint. */
  leave(
    webhook: Webhook,
    entry: QueuedEntry | undefined,
    attempted: Attempted | undefined,
    isBrokenOff: boolean,
  ): void {
    const probe = entry?.kind === 'go' ? entry.probe : NO_PROBE;
    if (attempted === undefined) {
      this.reports.unused(webhook);
      void this.breakers.unclaim(webhook, probe, Date.now());
    } else if (isBrokenOff) this.reports.brokenOff(webhook, attempted, probe);
    else this.reports.ended(webhook, attempted, probe);
  }

  /** Reports the result of a probe to the breakers. */
  probed(webhook: Webhook, attempted: Attempted, probe: Probe): Promise<void> {
    return this.breakers.probed(webhook, attempted, probe, Date.now());
  }

  /** Puts the job back until `at` by `putBack`, and makes it due at once when the origin answers 2xx. */
  async awaitTurn(endpoint: string, job: StoredJob, at: number, putBack: () => Promise<never>): Promise<never> {
    try {
      return await putBack();
    } finally {
      await this.origins.hold(endpoint, deliveryId(job), at);
    }
  }
}
