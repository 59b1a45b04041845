import { performance, type EventLoopUtilization } from 'node:perf_hooks';

/** A worker whose event loop is in use for more of its time is late itself. */
const BUSY_SHARE = 0.9;
/** So is one whose beats come so many milliseconds late: other processes have the cores, and the loop seems idle. */
const BUSY_LATE_MS = 10;

/** Tells from regular beats whether this worker has no time left. */
export class LoopLoad {
  #since: EventLoopUtilization | undefined;
  #lastAt = 0;
  /** Share of the event loop's time in use, and how late the beats are: over the last ones. */
  #use = 0;
  #lateMs = 0;

  constructor(
    private readonly loopTime = (since?: EventLoopUtilization) => performance.eventLoopUtilization(since),
    private readonly now = () => performance.now(),
  ) {}

  get isBusy(): boolean {
    return this.#use > BUSY_SHARE || this.#lateMs > BUSY_LATE_MS;
  }

  /** The beats begin now. */
  begin(): void {
    this.#since = this.loopTime();
    this.#lastAt = this.now();
  }

  /** @param everyMs between two beats */
  beat(everyMs: number): void {
    this.#lateMs = (this.#lateMs + Math.max(0, this.now() - this.#lastAt - everyMs)) / 2;
    this.#use = (this.#use + this.loopTime(this.#since).utilization) / 2;
    this.begin();
  }
}
