import { keyringEnv } from '@relay/config';
import { registryTopic } from '@relay/events';
import { type Kafka, KeptAdmin } from '@relay/kafka';
import { Keyring } from '@relay/keyring';
import { KafkaPublisher, type Publisher } from '@relay/publishing';
import {
  keyKeys,
  KafkaRegistryLog,
  RegistryClaim,
  RegistryView,
  sealingFault,
  type RegistryLog,
} from '@relay/registry';
import type { Shards } from '@relay/redis';
import type { Log } from '@relay/telemetry';
import type { Redis } from 'ioredis';
import { withKafka, withRedis, type KafkaConfig } from './connections.adapter.js';
import { settingsOf, type Shell } from './shell.js';

/** A command meets Kafka cold, and waits longer for its first look at a topic than a request could. */
const LOOK_MS = 6_000;

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

/** Runs `work` with both stores, whatever Redis holds. @throws Away */
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

/** Runs `work` once Redis has caught up with the registry. @throws Away, RegistryUnavailable */
export function withRegistry<T>(shell: Shell, work: (stores: CurrentStores) => Promise<T>): Promise<T> {
  return withStores(shell, async (stores) => {
    const registry = new RegistryView(stores.redis, stores.registryLog, stores.log);
    await registry.current();
    return work({ ...stores, registry });
  });
}

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

/** @throws ForeignRedis when Redis holds the state of another deployment */
export const assertClaimed = (redis: Redis, kafka: Kafka, settings: KafkaConfig): Promise<void> =>
  withRegistryLog(kafka, settings, logOf(nothing), (registryLog) => new RegistryClaim(redis, registryLog).made());

const nothing = (): void => undefined;

/** The caller prints errors; the rest of the log is for services. */
export const logOf = (error: Log['error']) => ({ error, warn: nothing, info: nothing, debug: nothing });

/** The keys of this command. @throws ConfigurationFault */
export const keyringOf = (shell: Shell): Keyring => Keyring.parse(settingsOf(shell, keyringEnv).ENCRYPTION_KEYS);

/** @throws Error when the processes could not read what this command seals or hashes */
export async function assertShared(keyring: Keyring, redis: Redis): Promise<void> {
  const fault = sealingFault(await redis.hgetall(keyKeys[0]), keyring.checks);
  if (fault !== undefined) throw new Error(fault);
}
