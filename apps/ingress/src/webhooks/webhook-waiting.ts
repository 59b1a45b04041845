import { Injectable } from '@nestjs/common';
import { WaitingJobs } from '@relay/jobs';
import { isParked } from '@relay/progress';
import { Shards } from '@relay/redis';
import type { WebhookDetails } from '@relay/webhooks';

/** The waiting deliveries of a webhook, as its partner sees them. */
@Injectable()
export class WebhookWaiting {
  readonly #jobs: WaitingJobs;

  constructor(private readonly shards: Shards) {
    this.#jobs = new WaitingJobs(shards);
  }

  /** @param status of the registration */
  async of(id: string, status: WebhookDetails['status']): Promise<Pick<WebhookDetails, 'status' | 'waiting'>> {
    const [waiting, parked] = await Promise.all([this.#jobs.of(id), isParked(this.shards, id)]);
    return { status: status === 'active' && parked ? 'parked' : status, waiting };
  }
}
