import type { Webhook } from '@relay/webhooks';
import type { WaitingCounts } from './waiting-counts.js';

/** A partner's webhooks together: so many times the limit of one, or so many bytes. */
const PARTNER_LIMIT = 10;
const PARTNER_BYTES = 32 * 1024 * 1024;
/** When its partner has that much waiting, a webhook with this share of either is parked. */
const SHARE = 0.01;
/**
 * While its endpoint gets no attempts, so many deliveries wait in the queue, so that one of them can be the probe. With no
 * more than these it is parked where the queue has no room for more, whoever else has filled it.
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
    private readonly isBarred: (endpoint: string) => boolean,
  ) {}

  /** Whether what comes is to wait in the log. */
  isDue({ id, partnerId, endpoint, status }: Webhook): boolean {
    if (status === 'disabled') return true;
    const own = this.waiting.of(id);
    if (own.deliveries === 0) return false;
    const { perWebhook, total } = this.limits;
    if (own.deliveries >= perWebhook) return true;
    const of = this.waiting.ofPartner(partnerId);
    if (of.bytes >= PARTNER_BYTES && own.bytes >= PARTNER_BYTES * SHARE) return true;
    // One that answers is parked late: what it has waiting may be a few retries of the next 24 h.
    const isBarred = this.isBarred(endpoint);
    const isOver = of.deliveries >= perWebhook * PARTNER_LIMIT;
    if (isOver && own.deliveries >= (isBarred ? PROBES : perWebhook * PARTNER_LIMIT * SHARE)) return true;
    // Half full: what waits for endpoints that get no attempts must not be what stops reading for all others.
    return isBarred && own.deliveries >= PROBES && this.waiting.deliveries >= total / 2;
  }

  /** How many deliveries may wait or run for it while it is caught up; 0: it is not. */
  room({ endpoint, partnerId, status }: Webhook): number {
    if (status === 'disabled') return 0;
    const { perWebhook } = this.limits;
    const isTight = this.isBarred(endpoint) || this.waiting.ofPartner(partnerId).bytes >= PARTNER_BYTES / 2;
    return isTight ? Math.min(PROBES, perWebhook) : Math.ceil(perWebhook / 2);
  }
}
