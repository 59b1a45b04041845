import { PartnerQuota } from '@relay/http';

const QUOTA = { name: 'history', points: 600, windowMs: 60_000 };

/**
 * Limits look-ups of deliveries and replays, which search Redis and Kafka: so many a minute for each partner in each
 * process. A person with 1,000 webhooks who turns a page every second stays within it.
 */
export class HistoryQuota extends PartnerQuota {
  constructor() {
    super(QUOTA);
  }

  /** @throws ProblemError `too-many-requests` */
  async admit(partnerId: string, points = 1): Promise<void> {
    if (points > 0) await this.charge(partnerId, 'You have sent too many requests for deliveries and replays.', points);
  }
}
