import { globalKey, type StoreClock } from '@relay/redis';
import type { Log, ThrottledLog } from '@relay/telemetry';
import type { Redis } from 'ioredis';
import { Gauge, type Registry } from 'prom-client';
import { StoreReading, type Sample } from './store-reading.js';

/** Registers a gauge of a value that the process has. */
function registerValue(registry: Registry, name: string, help: string, value: () => number): void {
  registry.registerMetric(
    new Gauge({
      name,
      help,
      registers: [],
      collect() {
        this.set(value());
      },
    }),
  );
}

export function registerClock(registry: Registry, clock: Pick<StoreClock, 'hostAheadMs'>): void {
  const help = "By how much the clock of the host is ahead of Redis'; negative when it is behind.";
  registerValue(registry, 'relay_clock_ahead_seconds', help, () => clock.hostAheadMs / 1_000);
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

/** Registers how many keys of the registry a process lacks. */
export function registerMissingKeys(registry: Registry, keyring: { readonly missing: ReadonlySet<string> }): void {
  const help = 'Registered encryption keys that ENCRYPTION_KEYS of this process lacks.';
  registerValue(registry, 'relay_keys_missing', help, () => keyring.missing.size);
}

const FIRST_SEEN = globalKey('keys', 'first-seen');

/** Name of the key that writes or signs: the first one of `kid:base64,…`. */
const firstKid = (keys: string): string => keys.slice(0, keys.indexOf(':')).trim();

/**
 * Registers the age of the writing key of each use, for an alert that asks for its rotation. A key does not contain its creation
 * time: the first process that sees its name notes the time in Redis.
 */
export function registerKeyAges(
  registry: Registry,
  redis: Redis,
  keys: Readonly<Record<string, string>>,
  log: ThrottledLog,
): void {
  new StoreReading(registry, log, 'keys', () => readAges(redis, keys, Date.now())).gauge(
    'relay_key_age_seconds',
    'Since the key that writes or signs was first seen. The same from every process: take max(), not sum().',
    ['use'],
    (ages) => ages,
  );
}

function readAges(redis: Redis, keys: Readonly<Record<string, string>>, now: number): Promise<Sample[]> {
  return Promise.all(
    Object.entries(keys).map(async ([use, text]): Promise<Sample> => {
      const field = `${use}:${firstKid(text)}`;
      await redis.hsetnx(FIRST_SEEN, field, now);
      const since = Number((await redis.hget(FIRST_SEEN, field)) ?? now);
      return [{ use }, Math.max(0, now - since) / 1_000];
    }),
  );
}
