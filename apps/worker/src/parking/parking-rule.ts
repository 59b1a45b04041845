import type { Webhook } from '@relay/webhooks';
import type { WaitingCounts } from './waiting-counts.js';

/** Waiting deliveries of all webhooks of a partner above which any of them is parked that has a tenth of its own limit. */
const PARTNER_LIMIT = 10;
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
    const waiting = this.waiting.of(id);
    if (waiting === 0) return false;
    if (waiting >= this.limit) return true;
    return waiting * 10 >= this.limit && this.waiting.ofPartner(partnerId) >= this.limit * PARTNER_LIMIT;
  }

  /** How many deliveries may wait or run for it while it is caught up; 0: it is not. */
  room({ endpoint, status }: Webhook): number {
    if (status === 'disabled') return 0;
    return this.isBarred(endpoint) ? Math.min(PROBES, this.limit) : Math.ceil(this.limit / 2);
  }
}
