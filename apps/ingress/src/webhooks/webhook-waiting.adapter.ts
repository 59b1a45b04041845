import { WaitingJobs } from '@relay/jobs';
import { parkedKey } from '@relay/progress';
import type { WebhookDetails } from '@relay/webhooks';
import type { Redis } from 'ioredis';

/** What waits for a webhook, as its partner is shown it. */
export class WebhookWaiting {
  readonly #jobs: WaitingJobs;

  constructor(private readonly redis: Redis) {
    this.#jobs = new WaitingJobs(redis);
  }

  /** @param status what the registration says */
  async of(id: string, status: WebhookDetails['status']): Promise<Pick<WebhookDetails, 'status' | 'waiting'>> {
    const [waiting, isParked] = await Promise.all([this.#jobs.of(id), this.redis.exists(parkedKey(id))]);
    return { status: status === 'active' && isParked === 1 ? 'parked' : status, waiting };
  }
}
