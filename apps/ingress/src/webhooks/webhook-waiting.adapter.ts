import { WaitingJobs } from '@relay/jobs';
import { parkedKey } from '@relay/progress';
import { onlyShard, type Shard } from '@relay/redis';
import type { WebhookDetails } from '@relay/webhooks';
import type { Redis } from 'ioredis';

/** The waiting deliveries of a webhook, as its partner sees them. */
export class WebhookWaiting {
  readonly #shard: Shard;
  readonly #jobs: WaitingJobs;

  constructor(redis: Redis) {
    this.#shard = onlyShard(redis);
    this.#jobs = new WaitingJobs(this.#shard);
  }

  /** @param status of the registration */
  async of(id: string, status: WebhookDetails['status']): Promise<Pick<WebhookDetails, 'status' | 'waiting'>> {
    const parked = this.#shard.redis.exists(parkedKey(this.#shard, id));
    const [waiting, isParked] = await Promise.all([this.#jobs.of(id), parked]);
    return { status: status === 'active' && isParked === 1 ? 'parked' : status, waiting };
  }
}
