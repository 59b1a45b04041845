import { Inject, Injectable } from '@nestjs/common';
import { Publisher } from '@relay/publishing';
import { Health } from '@relay/telemetry';
import { FATAL } from '../platform/tokens.js';

const QUIET_MS = 30_000;
const HOPELESS_MS = 60_000;
/** If a check is late by more than this time in ms, the whole process was suspended, so the consumer is not at fault. */
const LATE_MS = 5_000;

/**
 * Detects a consumer that silently hangs: the brokers answer the producer of this process, but answer no fetch and no
 * heartbeat of the consumer. Normally, even an empty fetch is answered within 0.5 s, and a heartbeat is sent every second
 * while a batch is being processed. The Kafka client may wait forever for the answer to a heartbeat, and then never fetches
 * again. Only a new process helps. Therefore the liveness check fails, and the process exits if nothing restarts it. All
 * times are milliseconds of a monotonic clock.
 */
@Injectable()
export class FetchWatch {
  #since: number | undefined;
  #lookedAt = 0;

  /** Records an answered fetch or heartbeat, or a join of the consumer group. */
  progressed(now: number): void {
    this.#since = now;
  }

  /** Checks for progress. Must be called every second. */
  look(now: number, brokersAnswer: boolean): void {
    const isLate = now - this.#lookedAt > LATE_MS;
    this.#lookedAt = now;
    if (this.#since === undefined || !brokersAnswer || isLate) this.#since = now;
  }

  /** Description of the fault at the last check, or undefined if there is none. */
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

/** Makes the liveness check fail when the consumer silently hangs, and ends the process if nothing restarts it. */
@Injectable()
export class ConsumerWatch {
  constructor(
    private readonly watch: FetchWatch,
    private readonly health: Health,
    @Inject(Publisher) private readonly publisher: Pick<Publisher, 'state'>,
    @Inject(FATAL) private readonly fatal: (reason: string) => void,
  ) {}

  /** Must be called after the consumer has started, because before that it may get no answers for good reasons. */
  start(): void {
    const { watch } = this;
    this.health.live('consumer', () => watch.fault);
    setInterval(() => {
      watch.look(performance.now(), this.publisher.state === 'connected');
      if (watch.isHopeless) this.fatal(watch.fault ?? '');
    }, LOOK_MS).unref();
  }
}
