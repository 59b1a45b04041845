import type { StoreClock } from '@relay/redis';
import type { Log } from '@relay/telemetry';
import type { Redis } from 'ioredis';
import { Gauge, type Registry } from 'prom-client';

/** Shows how far the clock of this host is from Redis' time. */
export function registerClock(registry: Registry, clock: Pick<StoreClock, 'hostAheadMs'>): void {
  registry.registerMetric(
    new Gauge({
      name: 'relay_clock_ahead_seconds',
      help: "By how much the clock of the host is ahead of Redis'; negative when it is behind.",
      registers: [],
      collect() {
        this.set(clock.hostAheadMs / 1_000);
      },
    }),
  );
}

/**
 * Keeps a process at Redis' time, shows how far the clock of its host is from that, and logs when it is too far.
 * @param changed called with each new fault and at its end
 */
export function watchClock(
  clock: StoreClock,
  redis: Redis,
  registry: Registry,
  log: Log,
  changed: (fault: string | undefined) => void = () => undefined,
): void {
  registerClock(registry, clock);
  let isTold = false;
  clock.follow(redis, () => {
    const { fault } = clock;
    if ((fault !== undefined) === isTold) return;
    isTold = fault !== undefined;
    if (fault === undefined) log.info('clock.right', 'The clocks of this host and of Redis agree again');
    else log.error('clock.off', fault, { aheadMs: clock.hostAheadMs });
    changed(fault);
  });
}
