import { Inject, Injectable } from '@nestjs/common';
import { registerKeyAges } from '@relay/metrics';
import { Health, registerProcessMetrics, ThrottledLog } from '@relay/telemetry';
import { Redis } from 'ioredis';
import { Registry } from 'prom-client';
import { WORKER_CONFIG } from '../platform/tokens.js';
import type { WorkerConfig } from '@relay/settings';

/** The metrics of every process: role, version, health, and the age of its keys. */
@Injectable()
export class ProcessMetrics {
  constructor(
    registry: Registry,
    health: Health,
    redis: Redis,
    log: ThrottledLog,
    @Inject(WORKER_CONFIG) config: Pick<WorkerConfig, 'ENCRYPTION_KEYS'>,
  ) {
    registerProcessMetrics(registry, 'worker', health);
    registerKeyAges(registry, redis, { encryption: config.ENCRYPTION_KEYS }, log);
  }
}
