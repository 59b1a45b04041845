import { Test } from '@nestjs/testing';
import { parseEnv } from '@relay/config';
import { registerClock } from '@relay/metrics';
import { OperationsEnv, WorkerEnv } from '@relay/settings';
import { aSigningKeyText } from '@relay/testing';
import { Registry } from 'prom-client';
import { registerMetrics as registerIngress } from '../../apps/ingress/src/start.js';
import { aConfig } from '../../apps/ingress/src/http/spec-app.js';
import { createIngressApp } from '../../apps/ingress/src/access/access.module.js';
import { IngressModule } from '../../apps/ingress/src/ingress.module.js';
import { WorkerModule } from '../../apps/worker/src/worker.module.js';
import { createOperationsApp } from '../../apps/operations/src/operations-app.js';
import { OperationsModule } from '../../apps/operations/src/operations.module.js';
import { registerMetrics as registerOperations } from '../../apps/operations/src/start.js';

// For specs only.

export interface Exported {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  readonly labels: readonly string[];
  readonly roles: readonly string[];
}

/** Every metric that the processes export, by what their modules register; needs a Redis that nobody else uses. */
export async function exportedMetrics(redisUrl: string): Promise<Exported[]> {
  const env = {
    KAFKA_BROKERS: '127.0.0.1:1',
    REDIS_URL: redisUrl,
    ENCRYPTION_KEYS: `k1:${Buffer.alloc(32, 1).toString('base64')}`,
    JWT_PRIVATE_KEYS: aSigningKeyText(),
    LOG_LEVEL: 'silent',
  };
  const ingress = aConfig(redisUrl);
  const worker = parseEnv(WorkerEnv, env, () => '');
  const operations = parseEnv(OperationsEnv, env, () => '');
  const [ingressApp, workerApp, operationsApp] = await Promise.all([
    createIngressApp(IngressModule.register(ingress), ingress),
    Test.createTestingModule({ imports: [WorkerModule.register(worker, () => undefined)] }).compile(),
    createOperationsApp(OperationsModule.register(operations), operations),
  ]);
  registerIngress(ingressApp, ingress);
  registerOperations(operationsApp, operations);
  const found = new Map<string, Exported>();
  for (const [role, app] of Object.entries({ ingress: ingressApp, worker: workerApp, operations: operationsApp })) {
    registerClock(app.get<Registry>(Registry), { hostAheadMs: 0 });
    for (const metric of app.get<Registry>(Registry).getMetricsAsArray()) {
      const { name, help, type, labelNames } = metric as unknown as Record<string, string> & { labelNames: string[] };
      const roles = [...(found.get(name ?? '')?.roles ?? []), role];
      found.set(name ?? '', { name: name ?? '', help: help ?? '', type: type ?? '', labels: labelNames, roles });
    }
  }
  return [...found.values()];
}
