import type { INestApplicationContext } from '@nestjs/common';
import { registerKeyAges } from '@relay/metrics';
import { Health, registerProcessMetrics, ThrottledLog } from '@relay/telemetry';
import { Redis } from 'ioredis';
import { Registry } from 'prom-client';
import type { OperationsConfig } from '@relay/settings';

/** Registers the build, readiness and key ages of the operations app; the workers export the state of the stores. */
export function registerMetrics(app: Pick<INestApplicationContext, 'get'>, config: OperationsConfig): void {
  const registry = app.get<Registry>(Registry);
  registerProcessMetrics(registry, 'operations', app.get(Health));
  const keys = { encryption: config.ENCRYPTION_KEYS, signing: config.JWT_PRIVATE_KEYS };
  registerKeyAges(registry, app.get(Redis), keys, app.get(ThrottledLog));
}
