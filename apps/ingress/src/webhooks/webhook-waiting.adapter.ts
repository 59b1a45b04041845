import { WaitingJobs } from '@relay/jobs';
import { parkedKey } from '@relay/progress';
import type { WebhookDetails } from '@relay/webhooks';
import type { Redis } from 'ioredis';

/** The waiting deliveries of a webhook, as its partner sees them. */
export class WebhookWaiting {
  readonly #jobs: WaitingJobs;

  constructor(private readonly redis: Redis) {
    this.#jobs = new WaitingJobs(redis);
  }

  /** @param status of the registration */
  async of(id: string, status: WebhookDetails['status']): Promise<Pick<WebhookDetails, 'status' | 'waiting'>> {
    const [waiting, isParked] = await Promise.all([this.#jobs.of(id), this.redis.exists(parkedKey(id))]);
    return { status: status === 'active' && isParked === 1 ? 'parked' : status, waiting };
  }
}
