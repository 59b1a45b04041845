import { createServer } from 'node:http';
import { Test } from '@nestjs/testing';
import { parseEnv } from '@relay/config';
import { Registry } from 'prom-client';
import { tellFigures as tellIngress } from '../../ingress/src/figures.js';
import { BodyBudget } from '../../ingress/src/http/body-budget.js';
import { tellHeld } from '../../ingress/src/http/held-metrics.js';
import { aConfig, aSigningKey } from '../../ingress/src/http/spec-app.js';
import { tellRequests } from '../../ingress/src/http/request-metrics.js';
import { IngressModule } from '../../ingress/src/ingress.module.js';
import { WorkerEnv } from '../../worker/src/worker.config.js';
import { WorkerModule } from '../../worker/src/worker.module.js';
import { tellFigures as tellOperations } from './figures.js';
import { OperationsEnv } from './operations.config.js';
import { OperationsModule } from './operations.module.js';

// For specs only.

export interface Exported {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  readonly labels: readonly string[];
  readonly roles: readonly string[];
}

/** Every series that the processes export, by what their modules register; needs a Redis that nobody else uses. */
export async function exportedSeries(redisUrl: string): Promise<Exported[]> {
  const env = {
    KAFKA_BROKERS: '127.0.0.1:1',
    REDIS_URL: redisUrl,
    ENCRYPTION_KEYS: `k1:${Buffer.alloc(32, 1).toString('base64')}`,
    JWT_PRIVATE_KEYS: aSigningKey(),
    LOG_LEVEL: 'silent',
  };
  const ingress = aConfig(redisUrl);
  const worker = parseEnv(WorkerEnv, env, () => '');
  const operations = parseEnv(OperationsEnv, env, () => '');
  const [ingressApp, workerApp, operationsApp] = await Promise.all([
    Test.createTestingModule({ imports: [IngressModule.register(ingress)] }).compile(),
    Test.createTestingModule({ imports: [WorkerModule.register(worker, () => undefined)] }).compile(),
    Test.createTestingModule({ imports: [OperationsModule.register(operations)] }).compile(),
  ]);
  for (const app of [ingressApp, operationsApp]) {
    tellRequests(app.get<Registry>(Registry));
    tellHeld(app.get<Registry>(Registry), new BodyBudget(1), createServer());
  }
  tellIngress(ingressApp, ingress);
  tellOperations(operationsApp, operations);
  const found = new Map<string, Exported>();
  for (const [role, app] of Object.entries({ ingress: ingressApp, worker: workerApp, operations: operationsApp })) {
    for (const metric of app.get<Registry>(Registry).getMetricsAsArray()) {
      const { name, help, type, labelNames } = metric as unknown as Record<string, string> & { labelNames: string[] };
      const roles = [...(found.get(name ?? '')?.roles ?? []), role];
      found.set(name ?? '', { name: name ?? '', help: help ?? '', type: type ?? '', labels: labelNames, roles });
    }
  }
  return [...found.values()];
}
