import { Inject, Injectable, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { RetryQueue } from '@relay/retry';
import { Log, reasonOf } from '@relay/telemetry';

const KEPT_MS = 30 * 86_400_000;
const EVERY_MS = 3_600_000;

/** Deletes dead letters that are 30 days old: each worker does so at its start and every hour. */
@Injectable()
export class DeadLetterExpiry implements OnApplicationBootstrap, OnModuleDestroy {
  #timer: NodeJS.Timeout | undefined;

  constructor(
    @Inject(RetryQueue) private readonly queue: Pick<RetryQueue, 'purge'>,
    @Inject(Log) private readonly log: Log,
  ) {}

  onApplicationBootstrap(): void {
    void this.#purge();
    this.#timer = setInterval(() => void this.#purge(), EVERY_MS).unref();
  }

  onModuleDestroy(): void {
    clearInterval(this.#timer);
  }

  async #purge(): Promise<void> {
    try {
      const purged = await this.queue.purge(KEPT_MS);
      if (purged > 0)
        this.log.warn('dead_letters.expired', 'Dead letters were deleted because they were 30 days old', { purged });
    } catch (error) {
      this.log.warn('dead_letters.purge_failed', 'Old dead letters were not deleted; next try in an hour', {
        reason: reasonOf(error),
      });
    }
  }
}
