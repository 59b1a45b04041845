import { globalKey } from '@relay/redis';
import type { ThrottledLog } from '@relay/telemetry';
import type { Redis } from 'ioredis';
import type { Registry } from 'prom-client';
import { registerGauge } from './gauge.js';
import { SharedReading } from './shared-reading.js';

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
  const ages = new SharedReading('keys', () => readAges(redis, keys, Date.now()), log);
  registerGauge(
    registry,
    {
      name: 'relay_key_age_seconds',
      help: 'Since the key that writes or signs was first seen. The same from every process: take max(), not sum().',
      labelNames: ['use'],
    },
    ages,
    (found) => found,
  );
}

function readAges(
  redis: Redis,
  keys: Readonly<Record<string, string>>,
  now: number,
): Promise<[Record<string, string>, number][]> {
  return Promise.all(
    Object.entries(keys).map(async ([use, text]): Promise<[Record<string, string>, number]> => {
      const field = `${use}:${firstKid(text)}`;
      await redis.hsetnx(FIRST_SEEN, field, now);
      const since = Number((await redis.hget(FIRST_SEEN, field)) ?? now);
      return [{ use }, Math.max(0, now - since) / 1_000];
    }),
  );
}
