import type { Redis } from 'ioredis';

/** Largest difference between the clocks, in ms. Beyond it one clock is wrong, and a process cannot know which. */
const BEARABLE_MS = 30_000;
const LOOK_MS = 1_000;

/** The host's own clock, even if `Date.now` is Redis' clock. */
export const hostTime: () => number = Date.now;

/** One answer of Redis about its clock. The first two are times of the steady clock, in milliseconds. */
export interface ClockAnswer {
  readonly askedAt: number;
  readonly answeredAt: number;
  /** Time of Redis' clock in between, in epoch milliseconds. */
  readonly shown: number;
}

/**
 * When the steady clock began, as Redis' clock shows it. An answer bounds that on both sides, however slow it was. Within the bounds
 * it stays what it was before, so a slow answer moves no time.
 */
export function beginOf(before: number | undefined, { askedAt, answeredAt, shown }: ClockAnswer): number {
  const [earliest, latest] = [shown - answeredAt, shown - askedAt];
  return before === undefined ? (earliest + latest) / 2 : Math.min(latest, Math.max(earliest, before));
}

/**
 * Redis' clock, as all processes of a deployment see it: read each second and continued by the steady clock. The host's clock has no part
 * in it, so setting that moves no time. While Redis is away the steady clock goes on alone.
 */
export class StoreClock {
  #begin: number | undefined;

  constructor(
    private readonly host: () => number = hostTime,
    private readonly steady: () => number = () => performance.now(),
  ) {}

  /** Epoch milliseconds; by the host's clock until Redis has answered once. */
  now(): number {
    return this.#begin === undefined ? this.host() : Math.floor(this.#begin + this.steady());
  }

  /** Milliseconds by which the host's clock is ahead of Redis'; negative when it is behind. */
  get hostAheadMs(): number {
    return this.host() - this.now();
  }

  /** Why this process should take no work, in words; undefined while host and Redis agree. */
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

  /** Reads Redis' clock. @throws when Redis is away */
  async look(redis: Pick<Redis, 'time'>): Promise<void> {
    const askedAt = this.steady();
    const [seconds, microseconds] = await redis.time();
    const shown = Number(seconds) * 1_000 + Number(microseconds) / 1_000;
    this.#begin = beginOf(this.#begin, { askedAt, answeredAt: this.steady(), shown });
  }

  /** Reads Redis' clock each second, and first of all on a new connection. @param looked called after each answer */
  follow(redis: Pick<Redis, 'time' | 'on'>, looked: () => void): void {
    const look = (): void => void this.look(redis).then(looked, () => undefined);
    redis.on('ready', look);
    setInterval(look, LOOK_MS).unref();
    look();
  }
}
