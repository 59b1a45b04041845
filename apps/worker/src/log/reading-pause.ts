import type { Log } from '@relay/telemetry';
import { Gauge, type Registry } from 'prom-client';
import { isScarce, pauseFor, type ReadingLoad } from './pause-rule.js';

/**
 * Holds reading while Redis or the queue is filled too far: records stay in the log, queued attempts go on. The worker
 * stays ready: it works as meant. While the load cannot be read it stays as it was; what cannot be stored pauses by itself.
 */
export class ReadingPause {
  #reason: string | undefined;
  #isScarce = false;
  #waiting: (() => void)[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly load: () => Promise<ReadingLoad>,
    private readonly queueLimit: number,
    private readonly log: Log,
    registry: Registry,
  ) {
    const gauge: Gauge = new Gauge({
      name: 'relay_reading_paused',
      help: '1 while no further records are read because Redis or the queue is filled too far.',
      registers: [registry],
      collect: (): void => gauge.set(this.#reason === undefined ? 0 : 1),
    });
  }

  start(everyMs = 1_000): void {
    const look = async (): Promise<void> => {
      await this.look().catch(() => undefined);
      if (this.#timer !== undefined) this.#timer = setTimeout(() => void look(), everyMs);
    };
    this.#timer = setTimeout(() => void look());
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  get isPaused(): boolean {
    return this.#reason !== undefined;
  }

  /** So much of Redis' memory is in use that what can be left out is. */
  get isMemoryScarce(): boolean {
    return this.#isScarce;
  }

  /** Undefined while reading goes on, else the promise of its end. */
  end(): Promise<void> | undefined {
    if (this.#reason === undefined) return undefined;
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  async look(): Promise<void> {
    const was = this.#reason;
    const load = await this.load();
    this.#reason = pauseFor(load, was !== undefined, this.queueLimit);
    this.#isScarce = isScarce(load);
    if (was === undefined && this.#reason !== undefined)
      this.log.warn('reading.paused', 'Nothing more is read for now; records wait in the log, queued attempts go on', {
        reason: this.#reason,
      });
    if (was !== undefined && this.#reason === undefined) {
      this.log.info('reading.resumed', 'Redis and the queue have room again; reading goes on');
      for (const resume of this.#waiting.splice(0)) resume();
    }
  }
}
