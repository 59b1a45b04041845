import { setTimeout as delay } from 'node:timers/promises';
import { REDIS_CONDITIONS } from '@relay/doctor';
import { createTopics, type Kafka, type KafkaAdmin, planTopics } from '@relay/kafka';
import { redisReady } from '@relay/redis';
import { reasonOf, type Log } from '@relay/telemetry';
import type { Redis } from 'ioredis';
import type { WorkerConfig } from '@relay/settings';

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

/** Waits until the brokers answer and every topic exists; in development missing topics are created. */
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

/** Repeats a step until it succeeds, and logs every 5 s what the worker waits for. */
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
