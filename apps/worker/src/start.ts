import { setTimeout as delay } from 'node:timers/promises';
import { QUEUE_SHARDS } from '@relay/jobs';
import { NestFactory } from '@nestjs/core';
import type { AsyncMicroserviceOptions } from '@nestjs/microservices';
import { REDIS_CONDITIONS } from '@relay/doctor';
import { egressOpenings } from '@relay/egress';
import { envelopeTopics } from '@relay/events';
import { createTopics, Kafka, type KafkaAdmin, planTopics } from '@relay/kafka';
import { Keyring } from '@relay/keyring';
import { watchClock } from '@relay/metrics';
import { EventTypesView } from '@relay/event-types';
import { assertNumberOfShards } from '@relay/progress';
import { Publisher } from '@relay/publishing';
import { AppendOnlyFile, isRedisAway, redisFault, redisReady, type Shard, Shards, StoreClock } from '@relay/redis';
import { KeyCheck, RegistryView } from '@relay/registry';
import type { WorkerConfig } from '@relay/settings';
import { Health, Log, nestLoggerOf, reasonOf, serveHealth } from '@relay/telemetry';
import { RedisWebhookView } from '@relay/webhooks';
import { Redis } from 'ioredis';
import { Registry } from 'prom-client';
import { ConsumerWatch } from './log/consumer-watch.js';
import { KafkaLogStrategy } from './log/kafka-log.strategy.js';
import { LogReader } from './log/log-reader.js';
import { pause } from './log/timing.js';
import { StoreConditions } from './platform/store-conditions.adapter.js';
import { KAFKA_ADMIN } from './platform/tokens.js';
import { Shutdown } from './shutdown.js';
import { WorkerModule } from './worker.module.js';

/**
 * Waits until Redis answers.
 * @throws Error if Redis breaks a condition that a worker needs to be ready
 */
export async function waitForRedis(redis: Redis, log: Log): Promise<void> {
  await redisReady(redis, () => log.warn('worker.waiting', 'The worker waits for Redis and then starts'));
  const info = await persist(() => redis.info(), log, 'Redis');
  const needed = REDIS_CONDITIONS.filter(({ isNeeded }) => isNeeded);
  const [broken] = needed.flatMap((condition) => condition.broken(info));
  if (broken !== undefined) throw new Error(`${broken.text}; ${broken.fix}`);
}

/** Waits until the brokers answer and every topic exists. In development, missing topics are created. */
export async function waitForKafka(kafka: Kafka, admin: KafkaAdmin, config: WorkerConfig, log: Log): Promise<void> {
  await persist(() => admin.connect(), log, 'Kafka');
  if (config.RELAY_ENV === 'development')
    await persist(() => createTopics(kafka, config), log, 'Kafka to create topics');
  await persist(
    async () => {
      const existing = new Set(await admin.listTopics());
      const missing = planTopics(config).filter(({ topic }) => !existing.has(topic));
      if (missing.length > 0)
        throw new Error(
          `${missing.length} topics are missing, such as ${missing[0]?.topic}: run \`relay topics create\``,
        );
    },
    log,
    'its topics',
  );
}

/** Repeats a step until it succeeds. About every 5 s, logs what the worker waits for. */
export async function persist<T>(step: () => Promise<T>, log: Log, what: string): Promise<T> {
  for (let tries = 0; ; tries += 1) {
    try {
      return await step();
    } catch (error) {
      if (tries % 10 === 0)
        log.warn('worker.waiting', `The worker waits for ${what} and then starts`, {
          reason: reasonOf(error),
        });
      await delay(500);
    }
  }
}

const LOOK_MS = 10_000;

/** Checks the disk of each Redis server at intervals for as long as the process runs. */
export function watchDisks(servers: readonly Shard[], log: Log): void {
  const looks = servers.map((shard) => diskLook(shard, log));
  const look = (): void => looks.forEach((one) => void one());
  look();
  setInterval(look, LOOK_MS).unref();
}

function diskLook(shard: Shard, log: Log): () => Promise<void> {
  const file = new AppendOnlyFile(shard);
  let told: string | undefined;
  return async () => {
    try {
      const { fault } = await file.look(performance.now());
      if (fault !== undefined && fault !== told)
        log.warn(
          'redis.disk',
          'Redis has trouble with its disk, which may be full; while it lasts, the worker does not have it rewrite its file',
          { shard: shard.tag, reason: fault },
        );
      told = fault;
    } catch (error) {
      // If Redis does not answer, its connection logs that. The next check asks it again.
      if (isRedisAway(error) || told === reasonOf(error)) return;
      told = reasonOf(error);
      log.warn(
        'redis.not_rewritten',
        'Redis was not asked to rewrite its append-only file; if Redis restarted after its machine crashed, run BGREWRITEAOF',
        { shard: shard.tag, reason: told },
      );
    }
  };
}

/**
 * Starts the worker: first the health endpoint, then the stores, then the log and the queue. Resolves when the worker reads
 * both.
 */
export async function startWorker(config: WorkerConfig): Promise<void> {
  const clock = new StoreClock().rule();
  const die = (reason: string): void => {
    process.stderr.write(
      `${JSON.stringify({ level: 60, event: 'worker.dead', msg: `The worker cannot continue and ends; restart it: ${reason}` })}\n`,
    );
    process.exit(1);
  };
  process.on('unhandledRejection', (error) => die(reasonOf(error)));
  process.on('uncaughtException', (error) => die(reasonOf(error)));

  const app = await NestFactory.createMicroservice<AsyncMicroserviceOptions>(WorkerModule.register(config, die), {
    inject: [KafkaLogStrategy],
    useFactory: (strategy: KafkaLogStrategy) => ({ strategy }),
    // If the start fails, the caller logs the reason in one line, and the lines that Nest has buffered until then are
    // dropped.
    bufferLogs: true,
    autoFlushLogs: false,
    abortOnError: false,
  });
  const log = app.get(Log);
  app.useLogger(nestLoggerOf(log));
  app.flushLogs();

  for (const opening of egressOpenings(config)) log.warn('egress.opened', opening);

  let phase: string | undefined = 'starting';
  const health = app.get(Health);
  const [redis, reader, publisher] = [app.get(Redis), app.get(LogReader), app.get(Publisher)];
  health.ready('worker', () => phase);
  const [shards, queueShards] = [app.get(Shards), app.get<Shards>(QUEUE_SHARDS)];
  health.ready('redis', () => redisFault(...shards.connections, ...queueShards.connections));
  health.ready('log', () => reader.fault);
  const registry = app.get(RegistryView);
  health.ready('registry', () => registry.claim.fault ?? registry.fault);
  const keys = new KeyCheck(redis, registry.of('key'), app.get(Keyring), log);
  health.ready('keys', () => keys.fault);
  health.ready('clock', () => clock.fault);
  const conditions = app.get(StoreConditions);
  health.ready('conditions', () => conditions.fault);
  health.ready('publisher', () => (publisher.state === 'connected' ? undefined : publisher.state));
  const server = await serveHealth(config.HEALTH_PORT, health, app.get(Registry));

  const stopping = new AbortController();
  const stop = (signal: string, exitCode = 0): void => {
    if (stopping.signal.aborted) return;
    stopping.abort();
    phase = 'stopping';
    log.info('worker.stopping', 'The worker starts nothing new and lets running attempts end', { signal });
    void app.close().then(() => {
      server.close();
      log.info(
        'worker.stopped',
        app.get(Shutdown).isComplete
          ? 'All running attempts have ended and are flushed'
          : 'The worker stopped before all running attempts had ended; they are repeated',
      );
      process.exit(exitCode);
    });
  };
  process.on('SIGTERM', (signal) => stop(signal));
  process.on('SIGINT', (signal) => stop(signal));

  let isTrusted = false;
  // It is unknown which of the two clocks is wrong. The worker ends, so that other workers take over its partitions. At its
  // next start it waits until the clocks agree.
  watchClock(clock, redis, app.get(Registry), log, (fault) => {
    if (isTrusted && fault !== undefined) stop('clock.off', 1);
  });
  phase = 'waiting for Redis';
  for (const { redis: connection } of shards.servers) await waitForRedis(connection, log);
  watchDisks(shards.servers, log);
  phase = 'waiting for its clock';
  while (!stopping.signal.aborted && clock.fault !== undefined) await pause(1_000);
  isTrusted = true;
  await assertNumberOfShards(redis, shards.all.length, envelopeTopics(config.KAFKA_TOPIC_PREFIX));
  const webhooks = app.get(RedisWebhookView);
  // Redis may have lost its latest writes. Registrations are therefore read again before any envelope is matched, and the
  // positions of the partitions are read again.
  redis.on('ready', () => void webhooks.reload().catch(() => undefined));
  for (const [number, shard] of shards.all.entries()) {
    const again = (): void => reader.reconnected(shards.all.length === 1 ? undefined : number);
    shard.redis.on('ready', again);
    // The two connections of a shard may reach different servers, so each of them has this listener.
    queueShards.all[number]?.redis.on('ready', again);
  }
  phase = 'waiting for Kafka';
  await waitForKafka(app.get(Kafka), app.get<KafkaAdmin>(KAFKA_ADMIN), config, log);
  conditions.start();
  phase = 'waiting for the registry';
  await persist(() => webhooks.reload(), log, 'the registry');
  const types = app.get(EventTypesView);
  await persist(() => types.refresh(), log, 'the event types');
  types.start();
  phase = 'waiting for the keys';
  while (!stopping.signal.aborted && (await persist(() => keys.look(), log, 'the keys')) !== undefined)
    await pause(1_000);
  if (stopping.signal.aborted) return;
  // A worker that lacks its keys ends, so that another worker takes over its partitions. At its next start it waits for the
  // keys.
  keys.start((fault) => {
    if (fault !== undefined) stop('keys.missing', 1);
  });
  // `listen` first calls `onApplicationBootstrap` in all modules and then starts the Kafka consumer.
  await app.listen();
  if (stopping.signal.aborted) return;
  app.get(ConsumerWatch).start();
  phase = undefined;
  log.info('worker.started', 'The worker reads the log and the queue', { healthPort: config.HEALTH_PORT });
}
