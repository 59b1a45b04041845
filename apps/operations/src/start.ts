import type { Server } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { INestApplicationContext } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { everyAddress, proxyWarning } from '@relay/http';
import { Publisher } from '@relay/publishing';
import { EventTypesView } from '@relay/event-types';
import { envelopeTopics } from '@relay/events';
import { assertNumberOfShards } from '@relay/progress';
import { registerKeyAges, watchClock } from '@relay/metrics';
import { redisFault, redisReady, StoreClock } from '@relay/redis';
import { RegistryView } from '@relay/registry';
import type { OperationsConfig } from '@relay/settings';
import { Health, Log, reasonOf, registerProcessMetrics, serveHealth, ThrottledLog } from '@relay/telemetry';
import { Redis } from 'ioredis';
import { Registry } from 'prom-client';
import { Board } from './board/board.adapter.js';
import { EnvelopeStores } from './envelopes/envelope-stores.adapter.js';
import { createOperationsApp } from './operations-app.js';
import { OperationsModule } from './operations.module.js';
import { causesOf } from './sign-in/sign-in-refused.js';
import { SignIns } from './sign-in/sign-ins.adapter.js';
import { NowState } from './state/now-state.adapter.js';

const STOP_MS = 25_000;

/** Starts the health server, waits for Redis, then accepts requests. If Kafka is down, operators can only read. */
export async function startOperations(config: OperationsConfig): Promise<void> {
  const clock = new StoreClock().rule();
  const app = await createOperationsApp(OperationsModule.register(config), config);
  const log = app.get(Log);
  const die = (error: unknown): void => {
    log.error('operations.dead', 'The operations app cannot continue and ends; restart it', {
      reason: reasonOf(error),
      stack: error instanceof Error ? error.stack : undefined,
    });
    process.exit(1);
  };
  process.on('unhandledRejection', die);
  process.on('uncaughtException', die);
  const warned = proxyWarning(config.TRUST_PROXY);
  if (warned !== undefined) log.warn('proxy.trusted', warned);

  let phase: string | undefined = 'starting';
  const [redis, publisher, health] = [app.get(Redis), app.get(Publisher), app.get(Health)];
  const registry = app.get(RegistryView);
  health.ready('operations', () => phase);
  health.ready('registry', () => registry.claim.fault);
  health.ready('redis', () => redisFault(redis));
  health.ready('kafka', () => (publisher.state === 'connected' ? undefined : publisher.state));
  registerMetrics(app, config);
  watchClock(clock, redis, app.get<Registry>(Registry), log);
  const server = await serveHealth(config.HEALTH_PORT, health, app.get<Registry>(Registry));

  const stopping = new AbortController();
  const stop = (signal: string): void => {
    if (stopping.signal.aborted) return;
    phase = 'stopping';
    stopping.abort();
    log.info('operations.stopping', 'The operations app answers the requests it has and ends', { signal });
    void stopOperations(app, server, log).then(() => process.exit(0));
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);

  phase = 'waiting for Redis';
  const waiting = (): void => log.warn('operations.waiting', 'The operations app waits for Redis and then starts');
  try {
    await redisReady(redis, waiting, stopping.signal);
    await assertNumberOfShards(redis, config.REDIS_SHARDS, envelopeTopics(config.KAFKA_TOPIC_PREFIX));
  } catch (error) {
    if (stopping.signal.aborted) return;
    throw error;
  }
  const types = app.get(EventTypesView);
  // If Kafka is down, the app starts with the built-in event types.
  await types.refresh().catch(() => undefined);
  types.start();
  await app.get(Board).ready();
  app.get(EnvelopeStores).start();
  app.get(NowState).start();
  await app.listen(config.OPERATIONS_PORT, everyAddress());
  phase = undefined;
  // A sign-in asks again. Meanwhile client id and client secret open the console.
  void app
    .get(SignIns)
    .provider?.metadata()
    .catch((error: unknown) =>
      log.warn('oidc.away', 'The identity provider cannot be used: nobody signs in there', { reason: causesOf(error) }),
    );
  log.info('operations.started', 'The operations app accepts requests', {
    port: config.OPERATIONS_PORT,
    healthPort: config.HEALTH_PORT,
    canWrite: config.OPERATIONS_WRITE,
  });
}

async function stopOperations(app: NestFastifyApplication, health: Server, log: Log): Promise<void> {
  try {
    const ended = await Promise.race([app.close().then(() => true), delay(STOP_MS, false, { ref: false })]);
    log.info('operations.stopped', ended ? 'All requests are answered' : 'Stopped before all requests were answered');
  } catch (error) {
    log.error('operations.stop_failed', 'A step of the shutdown failed', { reason: reasonOf(error) });
  }
  health.close();
}

/** Registers build, readiness and key age of the operations app. Metrics about the stores come from the workers. */
export function registerMetrics(app: Pick<INestApplicationContext, 'get'>, config: OperationsConfig): void {
  const registry = app.get<Registry>(Registry);
  registerProcessMetrics(registry, 'operations', app.get(Health));
  const keys = { encryption: config.ENCRYPTION_KEYS, signing: config.JWT_PRIVATE_KEYS };
  registerKeyAges(registry, app.get(Redis), keys, app.get(ThrottledLog));
}
