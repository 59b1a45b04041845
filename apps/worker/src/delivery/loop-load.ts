import { performance, type EventLoopUtilization } from 'node:perf_hooks';

/** Share of the event loop's time in use above which the worker itself is late. */
const BUSY_SHARE = 0.9;
/** Lateness of the beats, in ms, above which the worker is late: other processes have the cores, and the loop seems idle. */
const BUSY_LATE_MS = 10;

/** Measures by regular beats whether this worker has no time left. */
export class LoopLoad {
  #since: EventLoopUtilization | undefined;
  #lastAt = 0;
  /** Share of the event loop's time in use, and lateness of the beats in ms, both averaged over the last beats. */
  #use = 0;
  #lateMs = 0;

  constructor(
    private readonly loopTime = (since?: EventLoopUtilization) => performance.eventLoopUtilization(since),
    private readonly now = () => performance.now(),
  ) {}

  get isBusy(): boolean {
    return this.#use > BUSY_SHARE || this.#lateMs > BUSY_LATE_MS;
  }

  /** Starts the measurement up to the next beat. */
  begin(): void {
    this.#since = this.loopTime();
    this.#lastAt = this.now();
  }

  /** @param everyMs time between two beats */
  beat(everyMs: number): void {
    this.#lateMs = (this.#lateMs + Math.max(0, this.now() - this.#lastAt - everyMs)) / 2;
    this.#use = (this.#use + this.loopTime(this.#since).utilization) / 2;
    this.begin();
  }
}
