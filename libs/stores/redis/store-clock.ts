import type { Redis } from 'ioredis';

/**
 * Largest permitted difference between the clocks, in ms. If it is exceeded, one clock is wrong, and a process cannot know
 * which.
 */
const BEARABLE_MS = 30_000;
const LOOK_MS = 1_000;

/** Returns the time of the host's own clock, even after `rule` has made `Date.now` show Redis' clock. */
export const hostTime: () => number = Date.now;

/**
 * One answer of Redis about its clock. `askedAt` and `answeredAt` are times of the steady (monotonic) clock, in
 * milliseconds.
 */
export interface ClockAnswer {
  readonly askedAt: number;
  readonly answeredAt: number;
  /** Time of Redis' clock between these two times, in epoch milliseconds. */
  readonly shown: number;
}

/**
 * Returns what Redis' clock showed when the steady clock was zero. An answer gives an earliest and a latest value for that,
 * even if the answer was slow. The value `before` is kept if it is between them. So a slow answer changes no time.
 */
export function beginOf(before: number | undefined, { askedAt, answeredAt, shown }: ClockAnswer): number {
  const [earliest, latest] = [shown - answeredAt, shown - askedAt];
  return before === undefined ? (earliest + latest) / 2 : Math.min(latest, Math.max(earliest, before));
}

/**
 * Redis' clock, which all processes of a deployment share. It is read each second, and the steady (monotonic) clock
 * continues it in between. The host's clock is not used, so no time changes if somebody sets the host's clock. While Redis
 * is away, the steady clock continues alone.
 */
export class StoreClock {
  #begin: number | undefined;

  constructor(
    private readonly host: () => number = hostTime,
    private readonly steady: () => number = () => performance.now(),
  ) {}

  /** Epoch milliseconds. Before the first answer of Redis, this is the time of the host's clock. */
  now(): number {
    return this.#begin === undefined ? this.host() : Math.floor(this.#begin + this.steady());
  }

  /** Milliseconds by which the host's clock is ahead of Redis' clock; negative if it is behind. */
  get hostAheadMs(): number {
    return this.host() - this.now();
  }

  /** Why this process should take no work, in words; undefined while the clocks of the host and of Redis agree. */
  get fault(): string | undefined {
    if (this.#begin === undefined) return 'the clock of Redis has not been read yet';
    const aheadMs = this.hostAheadMs;
    if (Math.abs(aheadMs) <= BEARABLE_MS) return undefined;
    return `the clock of this host is ${Math.round(Math.abs(aheadMs) / 1_000)} s ${aheadMs > 0 ? 'ahead of' : 'behind'} that of Redis: set the wrong one right`;
  }

  /** Makes `Date.now` show Redis' time, for every part of this process and its libraries. */
  rule(): this {
    Date.now = () => this.now();
    return this;
  }

  /** Reads Redis' clock. @throws Error if Redis cannot be reached */
  async look(redis: Pick<Redis, 'time'>): Promise<void> {
    const askedAt = this.steady();
    const [seconds, microseconds] = await redis.time();
    const shown = Number(seconds) * 1_000 + Number(microseconds) / 1_000;
    this.#begin = beginOf(this.#begin, { askedAt, answeredAt: this.steady(), shown });
  }

  /** Reads Redis' clock each second, and at once on a new connection. @param looked called after each answer */
  follow(redis: Pick<Redis, 'time' | 'on'>, looked: () => void): void {
    const look = (): void => void this.look(redis).then(looked, () => undefined);
    redis.on('ready', look);
    setInterval(look, LOOK_MS).unref();
    look();
  }
}
