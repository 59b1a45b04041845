import { Inject, Injectable } from '@nestjs/common';
import { tellKeyAges } from '@relay/operations';
import { Health, tellProcess, ThrottledLog } from '@relay/telemetry';
import { Redis } from 'ioredis';
import { Registry } from 'prom-client';
import { WORKER_CONFIG } from '../platform/tokens.js';
import type { WorkerConfig } from '../worker.config.js';

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
    tellProcess(registry, 'worker', health);
    tellKeyAges(registry, redis, { encryption: config.ENCRYPTION_KEYS }, log);
  }
}
