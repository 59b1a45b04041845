import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { RegistryCompaction, RegistryView } from '@relay/registry';
import { Log, reasonOf } from '@relay/telemetry';
import { WORKER_CONFIG } from '../platform/tokens.js';
import type { WorkerConfig } from '@relay/settings';

const LOOK_MS = 5_000;
/** Time in ms to wait after a snapshot was not completed or a check failed. */
const PAUSE_MS = 60_000;
/** Interval in ms between checks for records that an earlier snapshot should have deleted. */
const FREE_MS = 3_600_000;

/**
 * Keeps the log of the registry short by writing snapshots. Every worker tries, and the log accepts one snapshot at a time.
 */
@Injectable()
export class RegistryKeeper implements OnApplicationBootstrap {
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> | undefined;
  #notBefore = 0;
  #freeAt = 0;

  constructor(
    @Inject(RegistryView) private readonly view: Pick<RegistryView, 'endStuckSnapshot'>,
    @Inject(RegistryCompaction) private readonly snapshots: Pick<RegistryCompaction, 'isDue' | 'compact' | 'free'>,
    @Inject(WORKER_CONFIG) private readonly config: Pick<WorkerConfig, 'REGISTRY_SNAPSHOT_AFTER'>,
    @Inject(Log) private readonly log: Log,
  ) {}

  onApplicationBootstrap(): void {
    this.#timer = setInterval(() => void (this.#looking ??= this.#lookOnce()), LOOK_MS).unref();
  }

  /** Resolves when the snapshot that is in progress, if any, has ended. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#looking;
  }

  /** @param now milliseconds of a monotonic clock */
  async look(now: number): Promise<void> {
    await this.view.endStuckSnapshot();
    if (now < this.#notBefore) return;
    if (await this.snapshots.isDue(this.config.REGISTRY_SNAPSHOT_AFTER)) {
      const { kind } = await this.snapshots.compact();
      if (kind !== 'compacted') this.#notBefore = now + PAUSE_MS;
    } else if (now >= this.#freeAt) {
      this.#freeAt = now + FREE_MS;
      // Deletes records that an earlier snapshot has replaced. They are left if the process died after its snapshot, or if
      // the deletion failed.
      await this.snapshots.free();
    }
  }

  async #lookOnce(): Promise<void> {
    try {
      await this.look(performance.now());
    } catch (error) {
      this.#notBefore = performance.now() + PAUSE_MS;
      const text =
        'The worker made no snapshot of the registry; it tries again in a minute, and the log grows meanwhile';
      this.log.warn('registry.not_compacted', text, { reason: reasonOf(error) });
    } finally {
      this.#looking = undefined;
    }
  }
}
