import { setTimeout as delay } from 'node:timers/promises';
import { kafkaEnv, keyringEnv, redisAddressFault, redisEnv } from '@relay/config';
import { Away } from '@relay/doctor';
import { registryTopic } from '@relay/events';
import { answeredWithin, connectKafka, type Kafka, KeptAdmin } from '@relay/kafka';
import { Keyring } from '@relay/keyring';
import { assertNotResharding, saidShards } from '@relay/progress';
import { KafkaPublisher, type Publisher } from '@relay/publishing';
import { connectRedis, connectShards, redisReady, type RedisSettings, type Shards, StoreClock } from '@relay/redis';
import {
  keyKeys,
  KafkaRegistryLog,
  RegistryClaim,
  RegistryView,
  sealingFault,
  type RegistryLog,
} from '@relay/registry';
import type { Log } from '@relay/telemetry';
import type { Redis } from 'ioredis';
import type { z } from 'zod';
import { settingsOf, type Shell } from './shell.js';

export type KafkaConfig = z.infer<z.ZodObject<typeof kafkaEnv>>;

export interface Stores {
  readonly redis: Redis;
  readonly shards: Shards;
  readonly kafka: Kafka;
  readonly publisher: Publisher;
  readonly registryLog: RegistryLog;
  readonly settings: KafkaConfig;
  readonly log: Log;
}

export interface CurrentStores extends Stores {
  readonly registry: RegistryView;
}

/** Runs `work` with Redis and Kafka, whatever state Redis contains. @throws Away if one of them does not answer */
export function withStores<T>(shell: Shell, work: (stores: Stores) => Promise<T>): Promise<T> {
  const log = logOf((_event, message) => shell.note(`warning: ${message}`));
  return withRedis(shell, (redis, shards) =>
    withKafka(shell, (kafka, settings) =>
      withRegistryLog(kafka, settings, log, (registryLog, publisher) =>
        work({ redis, shards, kafka, publisher, registryLog, settings, log }),
      ),
    ),
  );
}

/** Runs `work` after the view in Redis has caught up with the registry topic. @throws Away, RegistryUnavailable */
export function withRegistry<T>(shell: Shell, work: (stores: CurrentStores) => Promise<T>): Promise<T> {
  return withStores(shell, async (stores) => {
    const registry = new RegistryView(stores.redis, stores.registryLog, stores.log);
    await registry.current();
    return work({ ...stores, registry });
  });
}

/**
 * Maximum time to look up a topic, in ms. It is longer than for a request, because a command has to connect to Kafka first.
 */
const LOOK_MS = 6_000;

async function withRegistryLog<T>(
  kafka: Kafka,
  settings: KafkaConfig,
  log: Log,
  work: (registryLog: RegistryLog, publisher: Publisher) => Promise<T>,
): Promise<T> {
  const publisher = new KafkaPublisher(kafka, logOf(nothing), { lookMs: LOOK_MS });
  const admin = new KeptAdmin(kafka);
  try {
    const topic = registryTopic(settings.KAFKA_TOPIC_PREFIX);
    return await work(new KafkaRegistryLog(admin, publisher, topic, settings.KAFKA_CONSUMER_GROUP, log), publisher);
  } finally {
    await Promise.all([publisher.close(), admin.close()]);
  }
}

/** @throws ForeignRedis if Redis holds the state of another deployment */
export const assertClaimed = (redis: Redis, kafka: Kafka, settings: KafkaConfig): Promise<void> =>
  withRegistryLog(kafka, settings, logOf(nothing), (registryLog) => new RegistryClaim(redis, registryLog).made());

const nothing = (): void => undefined;

/** A log that drops everything except errors. */
export const logOf = (error: Log['error']) => ({ error, warn: nothing, info: nothing, debug: nothing });

/** The keys of `ENCRYPTION_KEYS`. @throws ConfigurationFault */
export const keyringOf = (shell: Shell): Keyring => Keyring.parse(settingsOf(shell, keyringEnv).ENCRYPTION_KEYS);

/** @throws Error if the running processes cannot decrypt or verify what this command encrypts or hashes */
export async function assertShared(keyring: Keyring, redis: Redis): Promise<void> {
  const fault = sealingFault(await redis.hgetall(keyKeys[0]), keyring.checks);
  if (fault !== undefined) throw new Error(fault);
}

/** Maximum wait for a store, in ms. It is short because a person is waiting. */
const PATIENCE_MS = 5_000;
/** Maximum wait, in ms, for a shard that does not have to answer. */
const OTHERS_MS = 3_000;

/**
 * Opens connections to Redis for `work` and closes them afterwards. The first connection error ends the attempt, because a
 * person is waiting.
 * @param needed the part of Redis that must answer. Unless it is `all`, commands to a shard may fail
 * @throws Away if Redis does not answer within five seconds, or a setting does not fit it
 */
export async function withRedis<T>(
  shell: Shell,
  work: (redis: Redis, shards: Shards) => Promise<T>,
  needed: 'all' | 'global' | 'any number of shards' = 'all',
): Promise<T> {
  const settings = settingsOf(shell, redisEnv);
  if (settings.REDIS_URL === undefined && settings.REDIS_SENTINELS.length + settings.REDIS_CLUSTER_NODES.length === 0)
    throw new Away('REDIS_URL is not set', 'set it, or REDIS_SENTINELS or REDIS_CLUSTER_NODES');
  const ignored = redisAddressFault(settings);
  if (ignored !== undefined) throw new Error(ignored);
  const opened: Redis[] = [];
  const answers = new Promise<[Redis, Shards]>((resolve, reject) => {
    const redis = connectRedis(settings, 'command', reject);
    const shards = connectShards(settings, 'command', needed === 'all' ? reject : () => undefined, redis);
    opened.push(...shards.connections);
    const ready = (connections: readonly Redis[]): Promise<unknown> =>
      Promise.all(connections.map((connection) => redisReady(connection, () => undefined)));
    const others = ready(opened.filter((connection) => connection !== redis));
    const enough = needed === 'all' ? others : Promise.race([others, delay(OTHERS_MS, undefined, { ref: false })]);
    Promise.all([ready([redis]), enough]).then(() => resolve([redis, shards]), reject);
  });
  try {
    const [redis, shards] = await within(answers).catch((error: unknown) => {
      const fault = `Redis does not answer at ${addressOf(settings)} (${causeOf(error)})`;
      const setting = settings.REDIS_CLUSTER_NODES.length > 0 ? 'REDIS_CLUSTER_NODES' : 'REDIS_URL';
      throw new Away(fault, `start it, or correct ${setting}`, error);
    });
    // Commands write times by the clock of Redis, because the processes that read these times use that clock too.
    await new StoreClock().rule().look(redis);
    if (needed !== 'any number of shards') await assertSaid(redis, shards.all.length);
    return await work(redis, shards);
  } finally {
    for (const connection of opened) connection.disconnect();
  }
}

/**
 * @throws Away if `REDIS_SHARDS` is not the number of shards in use, because the command would otherwise miss data of shards
 */
async function assertSaid(redis: Redis, count: number): Promise<void> {
  await assertNotResharding(redis);
  const said = await saidShards(redis);
  if (said !== undefined && said !== count)
    throw new Away(
      `the state in Redis is divided into ${said} shards, and REDIS_SHARDS is ${count}`,
      `set REDIS_SHARDS=${said}`,
    );
}

/** Runs `work` after a Kafka broker has answered. @throws Away if no broker answers within five seconds */
export async function withKafka<T>(
  shell: Shell,
  work: (kafka: Kafka, settings: KafkaConfig) => Promise<T>,
): Promise<T> {
  const settings = settingsOf(shell, kafkaEnv);
  // The errors that the driver logs are dropped, because its calls also throw them.
  const kafka = connectKafka(settings, () => undefined);
  const probe = kafka.admin({ retry: { retries: settings.KAFKA_BROKERS.length, initialRetryTime: 100 } });
  try {
    await within(probe.connect().then(() => probe.describeCluster()));
  } catch (error) {
    const fault = `Kafka does not answer at ${settings.KAFKA_BROKERS.join(', ')} (${causeOf(error)})`;
    throw new Away(fault, 'start it, or correct KAFKA_BROKERS and the other KAFKA_ settings', error);
  } finally {
    void probe.disconnect().catch(() => undefined);
  }
  return work(kafka, settings);
}

function addressOf({ REDIS_URL, REDIS_SENTINELS, REDIS_CLUSTER_NODES = [] }: RedisSettings): string {
  if (REDIS_CLUSTER_NODES.length > 0) return `the cluster ${REDIS_CLUSTER_NODES.join(', ')}`;
  if (REDIS_URL === undefined) return `the sentinels ${REDIS_SENTINELS.join(', ')}`;
  return URL.canParse(REDIS_URL) ? new URL(REDIS_URL).host : 'REDIS_URL';
}

const within = <T>(promise: Promise<T>): Promise<T> =>
  answeredWithin(PATIENCE_MS, promise, () => new Error(`nothing in ${PATIENCE_MS / 1_000} s`));

/** For a host with several addresses, Node throws an AggregateError with an error for each address and no own message. */
function causeOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(causeOf).join(', ');
  return error instanceof Error ? error.message || error.name : String(error);
}
