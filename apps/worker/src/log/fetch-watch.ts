const QUIET_MS = 30_000;
const HOPELESS_MS = 60_000;
/** A look later than this means that the whole process stood still, which says nothing of the consumer. */
const LATE_MS = 5_000;

/**
 * Notices a consumer that silently stands still: the brokers answer others of this process, and yet no fetch comes back, not
 * even an empty one (every partition with nothing new answers within 0.5 s), and no heartbeat is answered (while a batch is
 * handed out there is one each second). kafkajs can wait for ever for the answer to a heartbeat; every batch and every fetch
 * then waits with it, and only a new process helps: so liveness fails, and where nothing restarts the process it ends by
 * itself. Times are those of one steady clock, in milliseconds.
 */
export class FetchWatch {
  #since: number | undefined;
  #lookedAt = 0;

  /** A fetch or a heartbeat was answered, or the group was divided anew. */
  progressed(now: number): void {
    this.#since = now;
  }

  /** To be called every second. */
  look(now: number, brokersAnswer: boolean): void {
    const isLate = now - this.#lookedAt > LATE_MS;
    this.#lookedAt = now;
    if (this.#since === undefined || !brokersAnswer || isLate) this.#since = now;
  }

  /** What is wrong, in words, as of the last look. */
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
