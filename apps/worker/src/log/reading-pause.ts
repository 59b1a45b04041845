import { Inject, Injectable, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { Log } from '@relay/telemetry';
import { Gauge, Registry } from 'prom-client';
import { WORKER_CONFIG } from '../platform/tokens.js';
import type { WorkerConfig } from '@relay/settings';
import { isScarce, pauseFor, type ReadingLoad } from './pause-rule.js';

/** Reads how full Redis and the queue are (`() => Promise<ReadingLoad>`). */
export const READING_LOAD = Symbol('load of Redis and the queue');

const LOOK_MS = 1_000;

/**
 * Pauses reading while Redis or the queue is too full: records stay in the log, and queued attempts continue. The worker stays
 * ready meanwhile. While the load cannot be read, the last decision applies.
 */
@Injectable()
export class ReadingPause implements OnApplicationBootstrap, OnModuleDestroy {
  #reason: string | undefined;
  #isScarce = false;
  #waiting: (() => void)[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(
    @Inject(READING_LOAD) private readonly load: () => Promise<ReadingLoad>,
    @Inject(WORKER_CONFIG) private readonly config: Pick<WorkerConfig, 'QUEUE_LIMIT'>,
    @Inject(Log) private readonly log: Log,
    registry: Registry,
  ) {
    const gauge: Gauge = new Gauge({
      name: 'relay_reading_paused',
      help: '1 while no further records are read because Redis or the queue is filled too far.',
      registers: [registry],
      collect: (): void => gauge.set(this.#reason === undefined ? 0 : 1),
    });
  }

  onApplicationBootstrap(): void {
    const look = async (): Promise<void> => {
      await this.look().catch(() => undefined);
      if (this.#timer !== undefined) this.#timer = setTimeout(() => void look(), LOOK_MS);
    };
    this.#timer = setTimeout(() => void look());
  }

  onModuleDestroy(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  get isPaused(): boolean {
    return this.#reason !== undefined;
  }

  /** Whether Redis is so full that optional data is left out. */
  get isMemoryScarce(): boolean {
    return this.#isScarce;
  }

  /** Returns a promise that resolves when reading continues; undefined if reading is not paused. */
  end(): Promise<void> | undefined {
    if (this.#reason === undefined) return undefined;
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  async look(): Promise<void> {
    const was = this.#reason;
    const load = await this.load();
    this.#reason = pauseFor(load, was !== undefined, this.config.QUEUE_LIMIT);
    this.#isScarce = isScarce(load);
    if (was === undefined && this.#reason !== undefined)
      this.log.warn('reading.paused', 'Reading is paused; records wait in the log, queued attempts continue', {
        reason: this.#reason,
      });
    if (was !== undefined && this.#reason === undefined) {
      this.log.info('reading.resumed', 'Redis and the queue have room again; reading continues');
      for (const resume of this.#waiting.splice(0)) resume();
    }
  }
}
