import type { INestApplicationContext } from '@nestjs/common';
import { registerKeyAges } from '@relay/metrics';
import { Health, registerProcessMetrics, ThrottledLog } from '@relay/telemetry';
import { Redis } from 'ioredis';
import { Registry } from 'prom-client';
import type { OperationsConfig } from './operations.config.js';

/** Makes the operations app tell what it is, and how old the keys are; the workers tell what the stores hold. */
export function tellFigures(app: Pick<INestApplicationContext, 'get'>, config: OperationsConfig): void {
  const registry = app.get<Registry>(Registry);
  registerProcessMetrics(registry, 'operations', app.get(Health));
  const keys = { encryption: config.ENCRYPTION_KEYS, signing: config.JWT_PRIVATE_KEYS };
  registerKeyAges(registry, app.get(Redis), keys, app.get(ThrottledLog));
}
