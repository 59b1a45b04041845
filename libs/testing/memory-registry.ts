import { RegistryView } from '@relay/registry';
import type { Log } from '@relay/telemetry';
import type { Redis } from 'ioredis';
import { MemoryRegistryLog } from './memory-registry-log.js';

const silentLog: Log = { error: () => {}, warn: () => {}, info: () => {}, debug: () => {} };

/** The registry of a Redis over a log in memory; several connections to one Redis share a log. */
export function memoryRegistry(redis: Redis, log: MemoryRegistryLog = new MemoryRegistryLog()): RegistryView {
  redis.setMaxListeners(0); // a spec makes one for each of its cases
  return new RegistryView(redis, log, silentLog);
}
