import { registryTopic } from '@relay/events';
import { KeptAdmin } from '@relay/kafka';
import { keyringEnv } from '@relay/config';
import { Keyring } from '@relay/keyring';
import { KafkaPublisher, type Publisher } from '@relay/publishing';
import { faultOfKeys, KafkaRegistryLog, keyKeys, RegistryView, type RegistryLog } from '@relay/registry';
import type { Log } from '@relay/telemetry';
import type { Redis } from 'ioredis';
import type { Kafka } from 'kafkajs';
import { withKafka, withRedis, type KafkaConfig } from './connections.adapter.js';
import { settingsOf } from './settings.js';
import type { Shell } from './shell.js';

export interface Stores {
  readonly redis: Redis;
  readonly kafka: Kafka;
  readonly publisher: Publisher;
  readonly registry: RegistryView;
  readonly registryLog: RegistryLog;
  readonly settings: KafkaConfig;
}

/** Runs `work` once Redis has caught up with the registry. @throws Away, RegistryUnavailable */
export function withRegistry<T>(shell: Shell, work: (stores: Stores) => Promise<T>): Promise<T> {
  return withRedis(shell, (redis) =>
    withKafka(shell, async (kafka, settings) => {
      const publisher = new KafkaPublisher(kafka, logOf(nothing));
      const admin = new KeptAdmin(kafka);
      try {
        const topic = registryTopic(settings.KAFKA_TOPIC_PREFIX);
        const registryLog = new KafkaRegistryLog(kafka, admin, publisher, topic, settings.KAFKA_CONSUMER_GROUP);
        const registry = new RegistryView(
          redis,
          registryLog,
          logOf((_event, message) => shell.note(`warning: ${message}`)),
        );
        await registry.current();
        return await work({ redis, kafka, publisher, registry, registryLog, settings });
      } finally {
        await Promise.all([publisher.close(), admin.close()]);
      }
    }),
  );
}

/**
 * The keys for what this command seals or hashes.
 * @throws Error when a key of the registry is missing: no process could read what was sealed with another one
 */
export async function sealingKeyring(shell: Shell, { redis }: Stores): Promise<Keyring> {
  const keyring = Keyring.parse(settingsOf(shell, keyringEnv).ENCRYPTION_KEYS);
  const fault = faultOfKeys(await redis.hgetall(keyKeys[0]), keyring.checks);
  if (fault !== undefined) throw new Error(fault);
  return keyring;
}

const nothing = (): void => undefined;

/** The caller prints errors; the rest of the log is for services. */
export const logOf = (error: Log['error']) => ({ error, warn: nothing, info: nothing, debug: nothing });
