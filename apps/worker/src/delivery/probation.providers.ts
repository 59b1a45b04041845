import type { Provider } from '@nestjs/common';
import { RedisOriginProofs } from '@relay/breaker';
import { UnprovenJobs } from '@relay/retry';
import { ThrottledLog } from '@relay/telemetry';
import { Redis } from 'ioredis';
import type { WorkerConfig } from '../worker.config.js';
import { UnprovenOrigins } from './unproven-origins.js';

/** What keeps origins that have never answered 2xx from being flooded. */
export const probationProviders = (config: WorkerConfig, queueRedis: symbol): Provider[] => [
  { provide: UnprovenJobs, useFactory: (redis: Redis) => new UnprovenJobs(redis), inject: [queueRedis] },
  {
    provide: UnprovenOrigins,
    useFactory: (client: Redis, jobs: UnprovenJobs, log: ThrottledLog) =>
      new UnprovenOrigins({ proofs: new RedisOriginProofs(client), jobs, log, deadlineMs: config.DELIVERY_TIMEOUT }),
    inject: [Redis, UnprovenJobs, ThrottledLog],
  },
];
