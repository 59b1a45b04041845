import { Inject, Injectable, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { DisabledWebhookJobs } from '@relay/jobs';
import { reasonOf, ThrottledLog } from '@relay/telemetry';
import { RedisWebhookView } from '@relay/webhooks';

const LOOK_MS = 1_000;

/** Makes the jobs of a disabled webhook due as soon as it is enabled or deleted. */
@Injectable()
export class EnabledWebhooks implements OnApplicationBootstrap, OnModuleDestroy {
  #timer: NodeJS.Timeout | undefined;
  #isLooking = false;

  constructor(
    @Inject(DisabledWebhookJobs) private readonly jobs: Pick<DisabledWebhookJobs, 'webhooks' | 'letGo'>,
    @Inject(RedisWebhookView) private readonly webhooks: Pick<RedisWebhookView, 'refresh' | 'find'>,
    private readonly log: ThrottledLog,
  ) {}

  onApplicationBootstrap(): void {
    this.#timer = setInterval(() => void this.look(), LOOK_MS).unref();
  }

  onModuleDestroy(): void {
    clearInterval(this.#timer);
  }

  async look(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    try {
      const ids = await this.jobs.webhooks();
      if (ids.length > 0) await this.webhooks.refresh();
      for (const id of ids) if (this.webhooks.find(id)?.status !== 'disabled') await this.jobs.letGo(id);
    } catch (error) {
      this.log.warn(
        'queue.held',
        'The worker could not check the jobs of disabled webhooks and checks them again within two minutes',
        {
          reason: reasonOf(error),
        },
      );
    } finally {
      this.#isLooking = false;
    }
  }
}
