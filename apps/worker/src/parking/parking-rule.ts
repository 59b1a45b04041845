import type { Webhook } from '@relay/webhooks';
import type { WaitingCounts } from './waiting-counts.js';

/** A partner's webhooks together: so many times the limit of one, or so many bytes. */
const PARTNER_LIMIT = 10;
const PARTNER_BYTES = 32 * 1024 * 1024;
/** When its partner has that much waiting, a webhook with this share of either is parked. */
const SHARE = 0.01;
/** While its endpoint gets no attempts, so many deliveries wait in the queue, so that one of them can be the probe. */
const PROBES = 10;

/** When a webhook is parked and when it is caught up (design section 6). */
export class ParkingRule {
  constructor(
    private readonly waiting: Pick<WaitingCounts, 'of' | 'ofPartner'>,
    /** Waiting deliveries of a webhook above which it is parked. */
    private readonly limit: number,
    private readonly isBarred: (endpoint: string) => boolean,
  ) {}

  /** Whether what comes is to wait in the log. */
  isDue({ id, partnerId, status }: Webhook): boolean {
    if (status === 'disabled') return true;
    const own = this.waiting.of(id);
    if (own.deliveries === 0) return false;
    if (own.deliveries >= this.limit) return true;
    const [limit, of] = [this.limit * PARTNER_LIMIT, this.waiting.ofPartner(partnerId)];
    return (
      (of.deliveries >= limit && own.deliveries >= limit * SHARE) ||
      (of.bytes >= PARTNER_BYTES && own.bytes >= PARTNER_BYTES * SHARE)
    );
  }

  /** How many deliveries may wait or run for it while it is caught up; 0: it is not. */
  room(webhook: Webhook): number {
    if (webhook.status === 'disabled') return 0;
    if (this.isBarred(webhook.endpoint)) return Math.min(PROBES, this.limit);
    return this.waiting.ofPartner(webhook.partnerId).bytes >= PARTNER_BYTES / 2
      ? Math.min(PROBES, this.limit)
      : Math.ceil(this.limit / 2);
  }
}
