import { NestFactory } from '@nestjs/core';
import type { AsyncMicroserviceOptions } from '@nestjs/microservices';
import { egressOpenings } from '@relay/egress';
import { Publisher } from '@relay/publishing';
import { redisFault, rewriteAfterRestart } from '@relay/redis';
import { Keyring } from '@relay/keyring';
import { KeyCheck, RegistryView } from '@relay/registry';
import { RetryQueue } from '@relay/retry';
import { Health, Log, nestLoggerOf, reasonOf, serveHealth } from '@relay/telemetry';
import { RedisWebhookView } from '@relay/webhooks';
import { Redis } from 'ioredis';
import { Kafka, type Admin } from 'kafkajs';
import { Registry } from 'prom-client';
import { AttemptProcessor } from './queue/attempt.processor.js';
import { Breakers } from './delivery/breakers.js';
import { UnprovenOrigins } from './delivery/unproven-origins.js';
import { registerMetrics } from './metrics/metrics.js';
import type { FetchWatch } from './log/fetch-watch.js';
import { KafkaLogStrategy } from './log/kafka-log.strategy.js';
import { LogReader } from './log/log-reader.js';
import { ReadingPause } from './log/reading-pause.js';
import { CatchUp } from './catch-up/catch-up.js';
import { ExpiryWatch } from './parking/expiry-watch.js';
import { HeldDeliveries } from './queue/held-deliveries.js';
import { ReplayOrders } from './replays/replay-orders.js';
import { WaitingCounts } from './parking/waiting-counts.js';
import { WebhookHealth } from './webhook-health/webhook-health.js';
import { RegistryKeeper } from './registry/registry-keeper.js';
import { pause } from './pause.js';
import { stopWorker } from './stop.js';
import { persist, waitForKafka, waitForRedis } from './wait.js';
import type { WorkerConfig } from './worker.config.js';
import { KAFKA_ADMIN, QUEUE_REDIS, WorkerModule } from './worker.module.js';

/** Starts the worker: health first, then whatever it needs, then the log and the queue. Resolves when it reads. */
export async function startWorker(config: WorkerConfig): Promise<void> {
  const die = (reason: string): void => {
    process.stderr.write(
      `${JSON.stringify({ level: 60, event: 'worker.dead', msg: `The worker cannot go on and ends; start it again: ${reason}` })}\n`,
    );
    process.exit(1);
  };
  process.on('unhandledRejection', (error) => die(reasonOf(error)));
  process.on('uncaughtException', (error) => die(reasonOf(error)));

  const app = await NestFactory.createMicroservice<AsyncMicroserviceOptions>(WorkerModule.register(config, die), {
    inject: [KafkaLogStrategy],
    useFactory: (strategy: KafkaLogStrategy) => ({ strategy }),
    bufferLogs: true,
  });
  const log = app.get(Log);
  app.useLogger(nestLoggerOf(log));

  for (const opening of egressOpenings(config)) log.warn('egress.opened', opening);

  let phase: string | undefined = 'starting';
  const health = app.get(Health);
  const [redis, reader, publisher] = [app.get(Redis), app.get(LogReader), app.get(Publisher)];
  health.ready('worker', () => phase);
  health.ready('redis', () => redisFault(redis, app.get<Redis>(QUEUE_REDIS)));
  health.ready('log', () => reader.fault);
  health.ready('registry', () => app.get(RegistryView).fault);
  const keys = new KeyCheck(redis, app.get(RegistryView).of('key'), app.get(Keyring), log);
  health.ready('keys', () => keys.fault);
  health.ready('publisher', () => (publisher.state === 'connected' ? undefined : publisher.state));
  registerMetrics(app, config);
  const server = await serveHealth(config.HEALTH_PORT, health, app.get(Registry));

  const stopping = new AbortController();
  const stop = (signal: string, exitCode = 0): void => {
    if (stopping.signal.aborted) return;
    stopping.abort();
    phase = 'stopping';
    void stopWorker(app, server, log, signal).then((code) => process.exit(code || exitCode));
  };
  process.on('SIGTERM', (signal) => stop(signal));
  process.on('SIGINT', (signal) => stop(signal));

  phase = 'waiting for Redis';
  await waitForRedis(redis, log);
  const webhooks = app.get(RedisWebhookView);
  void mendFile(redis, log);
  redis.on('ready', () => {
    void mendFile(redis, log);
    // It may have gone back in time: registrations are caught up and read again before anything is matched, partitions owned again.
    void webhooks.reload().catch(() => undefined);
    reader.reconnected();
  });
  phase = 'waiting for Kafka';
  await waitForKafka(app.get(Kafka), app.get<Admin>(KAFKA_ADMIN), config, log);
  phase = 'waiting for the registry';
  await persist(() => webhooks.reload(), log, 'the registry');
  phase = 'waiting for the keys';
  while (!stopping.signal.aborted && (await persist(() => keys.look(), log, 'the keys')) !== undefined)
    await pause(1_000);
  if (stopping.signal.aborted) return;
  // Another worker has what is missing here: it takes the partitions over, and this one waits for its keys after its next start.
  keys.start((fault) => {
    if (fault !== undefined) stop('keys.missing', 1);
  });
  app.get(ReadingPause).start();
  await app.listen();
  if (stopping.signal.aborted) return;
  watchConsumer(app.get(KafkaLogStrategy).watch, health, () => publisher.state === 'connected', die);
  app.get(Breakers).start();
  app.get(UnprovenOrigins).start();
  app.get(WaitingCounts).start();
  app.get(WebhookHealth).start();
  app.get(HeldDeliveries).start();
  app.get(ReplayOrders).start();
  app.get(CatchUp).start();
  app.get(ExpiryWatch).start();
  app.get(RegistryKeeper).start();
  app.get(AttemptProcessor).start();
  phase = undefined;
  purgeDeadLetters(app.get(RetryQueue), log);
  log.info('worker.started', 'The worker reads the log and the queue', { healthPort: config.HEALTH_PORT });
}

/** Tried again with the next connection. */
async function mendFile(redis: Redis, log: Log): Promise<void> {
  try {
    await rewriteAfterRestart(redis);
  } catch (error) {
    log.warn(
      'redis.not_rewritten',
      'Redis was not asked to rewrite its append-only file; if it was restarted after a crash of its machine, run BGREWRITEAOF',
      { reason: reasonOf(error) },
    );
  }
}

/** A consumer that silently stops makes liveness fail after 30 s, and ends a process that nothing restarts after 60 s. */
function watchConsumer(
  watch: FetchWatch,
  health: Health,
  brokersAnswer: () => boolean,
  die: (reason: string) => void,
): void {
  health.live('consumer', () => watch.fault);
  setInterval(() => {
    watch.look(performance.now(), brokersAnswer());
    if (watch.isHopeless) die(watch.fault ?? '');
  }, 1_000).unref();
}

const KEPT_MS = 30 * 86_400_000;

/** Dead letters are kept 30 days; any worker may drop older ones, now and every hour. */
function purgeDeadLetters(queue: RetryQueue, log: Log): void {
  const purge = async (): Promise<void> => {
    try {
      const purged = await queue.purge(KEPT_MS);
      if (purged > 0)
        log.warn('dead_letters.expired', 'Dead letters were dropped because they were 30 days old', { purged });
    } catch (error) {
      log.warn('dead_letters.purge_failed', 'Old dead letters were not dropped; tried again in an hour', {
        reason: reasonOf(error),
      });
    }
  };
  void purge();
  setInterval(() => void purge(), 3_600_000).unref();
}
