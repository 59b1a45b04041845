import type { INestApplicationContext } from '@nestjs/common';
import { Keyring } from '@relay/keyring';
import { registerKeyAges, registerMissingKeys } from '@relay/metrics';
import { Health, registerProcessMetrics, ThrottledLog } from '@relay/telemetry';
import { Redis } from 'ioredis';
import { Registry } from 'prom-client';
import type { IngressConfig } from '@relay/settings';

/** Registers the build, readiness and key ages of the ingress. */
export function registerMetrics(app: Pick<INestApplicationContext, 'get'>, config: IngressConfig): void {
  const registry = app.get<Registry>(Registry);
  registerProcessMetrics(registry, 'ingress', app.get(Health));
  const keys = { encryption: config.ENCRYPTION_KEYS, signing: config.JWT_PRIVATE_KEYS };
  registerKeyAges(registry, app.get(Redis), keys, app.get(ThrottledLog));
  registerMissingKeys(registry, app.get(Keyring));
}
