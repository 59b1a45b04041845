import { ProblemError } from '@relay/problem';
import { PartnerQuota, spentHeaders } from '@relay/http';

const QUOTA = { name: 'history', points: 600, windowMs: 60_000 };

/**
 * Limits look-ups of deliveries and replays, which search Redis and Kafka: so many a minute for each partner in each
 * process.
 */
export class HistoryQuota extends PartnerQuota {
  constructor() {
    super(QUOTA);
  }

  /** @throws ProblemError `too-many-requests` */
  async admit(partnerId: string, points = 1): Promise<void> {
    if (points <= 0) return;
    const { consumedPoints, msBeforeNext } = await this.consume(partnerId, points);
    if (consumedPoints > this.quota.points)
      throw new ProblemError('too-many-requests', 'You have sent too many requests for deliveries and replays.', {
        headers: spentHeaders(this.quota, Math.ceil(msBeforeNext / 1_000)),
      });
  }
}
