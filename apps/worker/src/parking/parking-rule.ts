import type { Webhook } from '@relay/webhooks';
import type { WaitingCounts } from './waiting-counts.js';

/** The limits of a partner's webhooks together: this many times the limit of one, or this many bytes. */
const PARTNER_LIMIT = 10;
const PARTNER_BYTES = 32 * 1024 * 1024;
/** When its partner is over a limit, a webhook with this share of either limit is parked. */
const SHARE = 0.01;
/**
 * Deliveries that stay in the queue while their webhook gets no attempts, so that one of them can be the probe. A
 * webhook with as many is parked when the whole queue is half full, whichever webhooks have filled it.
 */
const PROBES = 10;

export interface ParkingLimits {
  /** Waiting deliveries of a webhook above which it is parked. */
  readonly perWebhook: number;
  /** Waiting deliveries of all of them above which reading pauses. */
  readonly total: number;
}

/** When a webhook is parked and when it is caught up. */
export class ParkingRule {
  constructor(
    private readonly waiting: Pick<WaitingCounts, 'of' | 'ofPartner' | 'deliveries'>,
    private readonly limits: ParkingLimits,
    private readonly isBarred: (webhook: Webhook) => boolean,
    /** The line that tells the partner of a webhook that is parked while so many of its deliveries wait. */
    private readonly line: (webhook: Webhook, waiting: number) => string | undefined,
  ) {}

  /** What the partner of a webhook that is parked now is to be told. Of a disabled one it knows already. */
  notice(webhook: Webhook): string | undefined {
    return webhook.status === 'active' ? this.line(webhook, this.waiting.of(webhook.id).deliveries) : undefined;
  }

  /** Whether further envelopes of the webhook wait in the log. */
  isDue(webhook: Webhook): boolean {
    const { id, partnerId, status } = webhook;
    if (status === 'disabled') return true;
    const own = this.waiting.of(id);
    if (own.deliveries === 0) return false;
    const { perWebhook, total } = this.limits;
    if (own.deliveries >= perWebhook) return true;
    const of = this.waiting.ofPartner(partnerId);
    if (of.bytes >= PARTNER_BYTES && own.bytes >= PARTNER_BYTES * SHARE) return true;
    // A webhook that answers is parked late: its waiting deliveries may be a few retries of the next 24 h.
    const isBarred = this.isBarred(webhook);
    const isOver = of.deliveries >= perWebhook * PARTNER_LIMIT;
    if (isOver && own.deliveries >= (isBarred ? PROBES : perWebhook * PARTNER_LIMIT * SHARE)) return true;
    // At half: deliveries to endpoints that get no attempts must never stop the reading for all others.
    return isBarred && own.deliveries >= PROBES && this.waiting.deliveries >= total / 2;
  }

  /** How many deliveries of the webhook may wait or run while it is caught up; 0 when it is not. */
  room(webhook: Webhook): number {
    const { partnerId, status } = webhook;
    if (status === 'disabled') return 0;
    const { perWebhook } = this.limits;
    const isTight = this.isBarred(webhook) || this.waiting.ofPartner(partnerId).bytes >= PARTNER_BYTES / 2;
    return isTight ? Math.min(PROBES, perWebhook) : Math.ceil(perWebhook / 2);
  }
}
