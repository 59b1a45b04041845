import { Inject, Injectable } from '@nestjs/common';
import { Publisher } from '@relay/publishing';
import { Health } from '@relay/telemetry';
import { FATAL } from '../platform/tokens.js';

const QUIET_MS = 30_000;
const HOPELESS_MS = 60_000;
/** A look that is late by more ms than this shows that the whole process stood still, not the consumer. */
const LATE_MS = 5_000;

/**
 * Notices a consumer that silently stands still: the brokers answer the producer of this process, but the consumer gets no fetch
 * (even an empty one is answered within 0.5 s) and no heartbeat (one a second while a batch is handed out). The driver can wait for
 * the answer to a heartbeat for ever, and every batch and fetch waits with it. Only a new process helps, so liveness fails, and
 * the process ends by itself if nothing restarts it. Times are milliseconds of a steady clock.
 */
@Injectable()
export class FetchWatch {
  #since: number | undefined;
  #lookedAt = 0;

  /** Notes an answered fetch or heartbeat, or a join of the group. */
  progressed(now: number): void {
    this.#since = now;
  }

  /** Called every second. */
  look(now: number, brokersAnswer: boolean): void {
    const isLate = now - this.#lookedAt > LATE_MS;
    this.#lookedAt = now;
    if (this.#since === undefined || !brokersAnswer || isLate) this.#since = now;
  }

  /** The fault in words, as of the last look. */
  get fault(): string | undefined {
    const quietMs = this.#quietMs;
    if (quietMs < QUIET_MS) return undefined;
    return `the consumer has had no fetch and no heartbeat answered for ${Math.round(quietMs / 1_000)} s although the brokers answer`;
  }

  get isHopeless(): boolean {
    return this.#quietMs >= HOPELESS_MS;
  }

  get #quietMs(): number {
    return this.#since === undefined ? 0 : this.#lookedAt - this.#since;
  }
}

const LOOK_MS = 1_000;

/** Makes liveness fail when the consumer silently stops, and ends the process if nothing restarts it. */
@Injectable()
export class ConsumerWatch {
  constructor(
    private readonly watch: FetchWatch,
    private readonly health: Health,
    @Inject(Publisher) private readonly publisher: Pick<Publisher, 'state'>,
    @Inject(FATAL) private readonly fatal: (reason: string) => void,
  ) {}

  /** Called once the consumer has started: until then it may rightly get no answer. */
  start(): void {
    const { watch } = this;
    this.health.live('consumer', () => watch.fault);
    setInterval(() => {
      watch.look(performance.now(), this.publisher.state === 'connected');
      if (watch.isHopeless) this.fatal(watch.fault ?? '');
    }, LOOK_MS).unref();
  }
}
