import { redisKey } from '@relay/redis';
import type { ThrottledLog } from '@relay/telemetry';
import type { Redis } from 'ioredis';
import type { Registry } from 'prom-client';
import { tellGauge } from './gauge.js';
import { SharedReading } from './shared-reading.js';

const FIRST_SEEN = redisKey('keys', 'first-seen');

/** The name of the key that writes or signs: the first of `kid:base64,…`. */
const firstKid = (keys: string): string => keys.slice(0, keys.indexOf(':')).trim();

/**
 * Tells how long the writing key of each use has been in use, so that somebody is told to rotate it. A key does not say when it
 * was made: the first process that sees its name notes the time in Redis.
 */
export function registerKeyAges(
  registry: Registry,
  redis: Redis,
  keys: Readonly<Record<string, string>>,
  log: ThrottledLog,
): void {
  const ages = new SharedReading('keys', () => readAges(redis, keys, Date.now()), log);
  tellGauge(
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
