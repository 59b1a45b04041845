import { Inject, Injectable, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { DisabledWebhookJobs, MisdatedJobs } from '@relay/jobs';
import { longestWait, RetryQueue } from '@relay/retry';
import { Log, reasonOf, ThrottledLog } from '@relay/telemetry';
import { RedisWebhookView } from '@relay/webhooks';
import { ATTEMPT_SETTINGS, type AttemptSettings } from '../delivery/attempts.js';

const ENABLED_LOOK_MS = 1_000;

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
    this.#timer = setInterval(() => void this.look(), ENABLED_LOOK_MS).unref();
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

const KEPT_MS = 30 * 86_400_000;
const PURGE_EVERY_MS = 3_600_000;

/** Deletes dead letters that are 30 days old. Each worker does this at its start and every hour. */
@Injectable()
export class DeadLetterExpiry implements OnApplicationBootstrap, OnModuleDestroy {
  #timer: NodeJS.Timeout | undefined;

  constructor(
    @Inject(RetryQueue) private readonly queue: Pick<RetryQueue, 'purge'>,
    @Inject(Log) private readonly log: Log,
  ) {}

  onApplicationBootstrap(): void {
    void this.#purge();
    this.#timer = setInterval(() => void this.#purge(), PURGE_EVERY_MS).unref();
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

const MISDATED_LOOK_MS = 60_000;
/**
 * Tolerance in ms. A delivery may be due slightly later than its endpoint asked for, and after a failover the clock of the
 * new Redis may be behind.
 */
const MARGIN_MS = 60_000;

/** Finds jobs that a wrong clock has put off for longer than any delivery may wait, and makes them due. */
@Injectable()
export class MisdatedJobsWatch implements OnApplicationBootstrap, OnModuleDestroy {
  #timer: NodeJS.Timeout | undefined;

  constructor(
    @Inject(MisdatedJobs) private readonly jobs: Pick<MisdatedJobs, 'mend'>,
    @Inject(ATTEMPT_SETTINGS) private readonly settings: Pick<AttemptSettings, 'policy'>,
    private readonly log: ThrottledLog,
  ) {}

  onApplicationBootstrap(): void {
    void this.look(Date.now());
    this.#timer = setInterval(() => void this.look(Date.now()), MISDATED_LOOK_MS).unref();
  }

  onModuleDestroy(): void {
    clearInterval(this.#timer);
  }

  async look(now: number): Promise<void> {
    try {
      const mended = await this.jobs.mend(now + longestWait(this.settings.policy.schedule) + MARGIN_MS);
      if (mended === 0) return;
      this.log.warn(
        'queue.misdated',
        'Deliveries were put off for longer than any may wait, by a wrong clock; the worker made them due',
        { jobs: mended },
      );
    } catch (error) {
      this.log.warn('queue.fault', 'The queue reports a fault; queued attempts continue when the fault has passed', {
        reason: reasonOf(error),
      });
    }
  }
}
