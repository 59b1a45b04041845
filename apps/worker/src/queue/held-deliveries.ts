import type { HeldJobs } from '@relay/retry';
import { reasonOf, type ThrottledLog } from '@relay/telemetry';
import type { Webhook } from '@relay/webhooks';

const LOOK_MS = 1_000;

/** Lets what waits in the queue for a disabled webhook go as soon as it is enabled, or deleted. */
export class HeldDeliveries {
  #timer: NodeJS.Timeout | undefined;
  #isLooking = false;

  constructor(
    private readonly held: Pick<HeldJobs, 'webhooks' | 'letGo'>,
    private readonly webhooks: {
      current: () => Promise<unknown>;
      find: (id: string) => Pick<Webhook, 'status'> | undefined;
    },
    private readonly log: ThrottledLog,
  ) {}

  start(): void {
    this.#timer = setInterval(() => void this.look(), LOOK_MS).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  async look(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    try {
      const ids = await this.held.webhooks();
      if (ids.length > 0) await this.webhooks.current();
      for (const id of ids) if (this.webhooks.find(id)?.status !== 'disabled') await this.held.letGo(id);
    } catch (error) {
      this.log.warn(
        'queue.held',
        'What waits for disabled webhooks could not be looked at; it comes by itself within two minutes',
        {
          reason: reasonOf(error),
        },
      );
    } finally {
      this.#isLooking = false;
    }
  }
}
