import { Inject, Injectable, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { MisdatedJobs } from '@relay/jobs';
import { longestWait } from '@relay/retry';
import { reasonOf, ThrottledLog } from '@relay/telemetry';
import { ATTEMPT_SETTINGS, type AttemptSettings } from '../delivery/attempts.js';

const LOOK_MS = 60_000;
/**
 * Tolerance in ms: a delivery may be due a little later than its endpoint asked for, and the clock of a promoted Redis may be
 * behind.
 */
const MARGIN_MS = 60_000;

/** Makes jobs due that a wrong clock put off for longer than any delivery may wait. */
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
    this.#timer = setInterval(() => void this.look(Date.now()), LOOK_MS).unref();
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
