import type { Provider } from '@nestjs/common';
import { RedisOriginProofs } from '@relay/breaker';
import { UnprovenJobs } from '@relay/jobs';
import { ThrottledLog } from '@relay/telemetry';
import { Redis } from 'ioredis';
import type { WorkerConfig } from '@relay/settings';
import { Probation } from './probation.js';

/** What keeps origins that have never answered 2xx from being flooded. */
export const probationProviders = (config: WorkerConfig, queueRedis: symbol): Provider[] => [
  { provide: UnprovenJobs, useFactory: (redis: Redis) => new UnprovenJobs(redis), inject: [queueRedis] },
  {
    provide: Probation,
    useFactory: (client: Redis, jobs: UnprovenJobs, log: ThrottledLog) =>
      new Probation({ proofs: new RedisOriginProofs(client), jobs, log, deadlineMs: config.DELIVERY_TIMEOUT }),
    inject: [Redis, UnprovenJobs, ThrottledLog],
  },
];
