import { Test, type TestingModule } from '@nestjs/testing';
import { parseEnv } from '@relay/config';
import { Keyring } from '@relay/keyring';
import { Publisher } from '@relay/publishing';
import { redisReady } from '@relay/redis';
import { RetryQueue } from '@relay/retry';
import { RegistryView } from '@relay/registry';
import { Log } from '@relay/telemetry';
import { memoryRegistry, MemoryRegistryLog, MemoryPublisher, startRedisServer } from '@relay/testing';
import { WebhookStore, RedisWebhookView } from '@relay/webhooks';
import { Redis } from 'ioredis';
import { QUEUE_REDIS } from './platform/tokens.js';
import { QueueConsumer } from './queued-attempts/queue-workers.adapter.js';
import { WorkerEnv, type WorkerConfig } from '@relay/settings';
import { WorkerModule } from './worker.module.js';

// For specs only. Starts the parts of a worker with a real Redis, and with Kafka in memory.

export interface SpecWorker {
  readonly app: TestingModule;
  readonly config: WorkerConfig;
  readonly redis: Redis;
  /** A webhook of the partner p1 for `task.created`. */
  readonly webhookId: string;
  /** Closes the worker, including its queue consumer, and stops Redis. */
  close(): Promise<void>;
}

/**
 * @param origin origin of the endpoint of the webhook that is registered
 * @param log receives the lines that the worker logs; without it they are dropped
 */
export async function startSpecWorker(
  origin: string,
  settings: Record<string, string>,
  log?: Log,
): Promise<SpecWorker> {
  const server = await startRedisServer();
  const redis = new Redis(server.url(), { maxRetriesPerRequest: null });
  const env = {
    KAFKA_BROKERS: '127.0.0.1:1',
    REDIS_URL: server.url(),
    ENCRYPTION_KEYS: `k1:${Buffer.alloc(32, 1).toString('base64')}`,
    EGRESS_ALLOW_HTTP: 'true',
    EGRESS_ALLOW_CIDRS: '127.0.0.0/8',
    LOG_LEVEL: 'silent',
    ...settings,
  };
  const config = parseEnv(WorkerEnv, env, () => '');
  const registry = memoryRegistry(redis, new MemoryRegistryLog());
  const module = Test.createTestingModule({ imports: [WorkerModule.register(config, () => undefined)] })
    .overrideProvider(Publisher)
    .useValue(new MemoryPublisher())
    .overrideProvider(RegistryView)
    .useValue(registry);
  const app = await (log === undefined ? module : module.overrideProvider(Log).useValue(log)).compile();
  for (const connection of [redis, app.get(Redis)]) await redisReady(connection, () => undefined);
  const stored = await new WebhookStore(redis, registry.of('webhook'), app.get(Keyring), {
    perPartner: 5,
  }).register('p1', {
    eventType: 'task.created',
    endPointUrl: `${origin}/hook`,
    url: `${origin}/hook`,
    origin,
    endPointDesc: undefined,
    endPointName: undefined,
    apiKey: 'key',
  });
  if (stored.kind !== 'created') throw new Error(stored.kind);
  await app.get(RedisWebhookView).reload();
  const close = async (): Promise<void> => {
    await app.get(QueueConsumer).close();
    await app.get(RetryQueue).close();
    app.get(Redis).disconnect();
    app.get<Redis>(QUEUE_REDIS).disconnect();
    redis.disconnect();
    await server.stop();
  };
  return { app, config, redis, webhookId: stored.id, close };
}
