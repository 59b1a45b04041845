import type { Server } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { INestApplicationContext } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { egressOpenings } from '@relay/egress';
import { envelopeTopics, eventTypes, operationsTopic, registryTopic } from '@relay/events';
import { everyAddress, proxyWarning } from '@relay/http';
import { checkRoom, checkTopics, createTopics, isUnauthorized, Kafka } from '@relay/kafka';
import { Keyring } from '@relay/keyring';
import { registerKeyAges, registerMissingKeys, watchClock } from '@relay/metrics';
import { EventTypesView } from '@relay/event-types';
import { assertNumberOfShards } from '@relay/progress';
import { Publisher } from '@relay/publishing';
import { redisReady, StoreClock } from '@relay/redis';
import { KeyCheck, RegistryView } from '@relay/registry';
import { DEFAULT_ENVELOPE_BYTES, type IngressConfig } from '@relay/settings';
import { Health, Log, reasonOf, registerProcessMetrics, serveHealth, ThrottledLog, Tracing } from '@relay/telemetry';
import { Redis } from 'ioredis';
import { Registry } from 'prom-client';
import { createIngressApp } from './access/access.module.js';
import { IngressModule } from './ingress.module.js';

/** Registers the build, readiness and key ages of the ingress. */
export function registerMetrics(app: Pick<INestApplicationContext, 'get'>, config: IngressConfig): void {
  const registry = app.get<Registry>(Registry);
  registerProcessMetrics(registry, 'ingress', app.get(Health));
  const keys = { encryption: config.ENCRYPTION_KEYS, signing: config.JWT_PRIVATE_KEYS };
  registerKeyAges(registry, app.get(Redis), keys, app.get(ThrottledLog));
  registerMissingKeys(registry, app.get(Keyring));
}

const STOP_MS = 25_000;
/** Topics without room of which one line tells. */
const SHOWN_FAULTS = 3;

/** Starts health, waits for Redis, Kafka, the registry and the keys, then starts HTTP. Resolves when started or stopped. */
export async function startIngress(config: IngressConfig): Promise<void> {
  const clock = new StoreClock().rule();
  const app = await createIngressApp(IngressModule.register(config), config);
  const log = app.get(Log);
  const die = (error: unknown): void => {
    const stack = error instanceof Error ? error.stack : undefined;
    log.error('ingress.dead', 'The ingress cannot continue and ends; restart it', { reason: reasonOf(error), stack });
    process.exit(1);
  };
  process.on('unhandledRejection', die);
  process.on('uncaughtException', die);

  for (const opening of egressOpenings(config)) log.warn('egress.opened', opening);
  const warned = proxyWarning(config.TRUST_PROXY);
  if (warned !== undefined) log.warn('proxy.trusted', warned);

  let phase: string | undefined = 'starting';
  app.get(Health).ready('ingress', () => phase);
  app.get(Health).ready('registry', () => app.get(RegistryView).claim.fault);
  const keys = new KeyCheck(app.get(Redis), app.get(RegistryView).of('key'), app.get(Keyring), log);
  app.get(Health).ready('keys', () => keys.fault);
  registerMetrics(app, config);
  watchClock(clock, app.get(Redis), app.get(Registry), log);
  const health = await serveHealth(config.HEALTH_PORT, app.get(Health), app.get(Registry));

  const stopping = new AbortController();
  const stop = (signal: string): void => {
    if (stopping.signal.aborted) return;
    phase = 'stopping';
    stopping.abort();
    log.info('ingress.stopping', 'The ingress takes no new connections and answers the requests it has', { signal });
    void stopIngress(app, health, log).then(() => process.exit(0));
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);

  try {
    phase = 'waiting for Redis';
    await redisReady(app.get(Redis), () => waiting(log, 'Redis'), stopping.signal);
    await assertNumberOfShards(app.get(Redis), config.REDIS_SHARDS, envelopeTopics(config.KAFKA_TOPIC_PREFIX));
    phase = 'waiting for Kafka';
    await until(() => learnTopics(app, config, log), 'Kafka', log, stopping.signal);
    phase = 'waiting for the registry';
    // After this, Redis shows every registration that was answered 201.
    await until(() => app.get(RegistryView).current(), 'the registry', log, stopping.signal);
    await until(() => app.get(EventTypesView).refresh(), 'the event types', log, stopping.signal);
    app.get(EventTypesView).start();
    eventTypes.onChange(() => void learn(app, config).catch(() => undefined));
    // By default the ingress serves the other topics, as `learnTopics` does.
    if (config.MAX_ENVELOPE_BYTES > DEFAULT_ENVELOPE_BYTES)
      await until(
        async () => {
          const faults = await noRoom(app, config, log);
          const more = faults.length - SHOWN_FAULTS;
          phase = [
            ...faults.slice(0, SHOWN_FAULTS),
            ...(more > 0 ? [`${more} more topics have too little room.`] : []),
          ].join(' ');
          if (phase !== '') throw new Error(phase);
        },
        'topics with room for MAX_ENVELOPE_BYTES',
        log,
        stopping.signal,
      );
    phase = 'waiting for the keys';
    // The process waits if it has none of the registered keys, or another value for the name of its writing key.
    await until(async () => (await keys.look()) === undefined, 'the keys', log, stopping.signal);
    keys.start();
    await app.listen(config.PORT, everyAddress());
  } catch (error) {
    if (stopping.signal.aborted) return;
    throw error;
  }
  phase = undefined;
  log.info('ingress.started', 'The ingress accepts requests', { port: config.PORT, healthPort: config.HEALTH_PORT });
}

const waiting = (log: Log, what: string, reason?: string): void =>
  log.warn('ingress.waiting', `The ingress waits for ${what} and then starts`, { reason });

/** Repeats an attempt every second until it succeeds. An attempt that returns false has logged the reason itself. */
async function until(attempt: () => Promise<unknown>, what: string, log: Log, signal: AbortSignal): Promise<void> {
  for (;;) {
    try {
      if ((await attempt()) !== false) return;
    } catch (error) {
      waiting(log, what, reasonOf(error));
    }
    await delay(1_000, undefined, { signal });
  }
}

/**
 * Finds a broker. Creates missing topics in development, otherwise logs them: envelopes of a type without a topic get 503.
 * The publisher learns all topics now. Otherwise the first envelope of a topic waits for a look-up that fails after 1.5 s, which a
 * starved machine exceeds.
 */
async function learnTopics(app: Pick<NestFastifyApplication, 'get'>, config: IngressConfig, log: Log): Promise<void> {
  const kafka = app.get(Kafka);
  if (config.RELAY_ENV === 'development') await createTopics(kafka, config);
  for (const fault of await checkTopics(kafka, config)) log.warn('topics.fault', fault);
  await learn(app, config);
}

/** Returns why the longest envelope does not fit into topics. A client that may not read their settings serves without the check. */
async function noRoom(app: Pick<NestFastifyApplication, 'get'>, config: IngressConfig, log: Log): Promise<string[]> {
  try {
    return await checkRoom(app.get(Kafka), config, config.MAX_ENVELOPE_BYTES);
  } catch (error) {
    if (!isUnauthorized(error)) throw error;
    log.warn('topics.fault', 'The ingress may not read whether topics have room for MAX_ENVELOPE_BYTES', {
      reason: reasonOf(error),
    });
    return [];
  }
}

/** Has the publisher look up all topics. */
const learn = (
  app: Pick<NestFastifyApplication, 'get'>,
  { KAFKA_TOPIC_PREFIX: prefix }: IngressConfig,
): Promise<void> =>
  app.get<Publisher>(Publisher).learn([...envelopeTopics(prefix), registryTopic(prefix), operationsTopic(prefix)]);

/** Ends HTTP first, then flushes the publisher, then closes the connections and exports the last spans. */
async function stopIngress(app: NestFastifyApplication, health: Server, log: Log): Promise<void> {
  try {
    const tracing = app.get<Tracing | undefined>(Tracing);
    const closed = app.close().then(() => tracing?.close());
    const ended = await Promise.race([closed.then(() => true), delay(STOP_MS, false, { ref: false })]);
    log.info('ingress.stopped', ended ? 'All requests are answered' : 'Stopped before all requests were answered');
  } catch (error) {
    const message = 'A step of the shutdown failed; the ingress still ends, and no accepted envelope is lost';
    log.error('ingress.stop_failed', message, { reason: reasonOf(error) });
  }
  health.close();
}
