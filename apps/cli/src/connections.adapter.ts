import { setTimeout as delay } from 'node:timers/promises';
import { Away } from '@relay/doctor';
import { kafkaEnv, redisAddressFault, redisEnv } from '@relay/config';
import { answeredWithin, connectKafka, type Kafka } from '@relay/kafka';
import { assertNotResharding, saidShards } from '@relay/progress';
import { connectRedis, connectShards, redisReady, type RedisSettings, type Shards, StoreClock } from '@relay/redis';
import type { Redis } from 'ioredis';
import type { z } from 'zod';
import { settingsOf, type Shell } from './shell.js';

const PATIENCE_MS = 5_000;
/** Longest wait, in ms, for a shard that need not answer. */
const OTHERS_MS = 3_000;

export type KafkaConfig = z.infer<z.ZodObject<typeof kafkaEnv>>;

/**
 * Opens a connection to Redis for `work` and closes it. The first fault ends the attempt, since a person is waiting.
 * @param needed what must answer: but with `all` commands of a shard may fail
 * @throws Away within five seconds
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
    // What a command writes must have the time of those who read it.
    await new StoreClock().rule().look(redis);
    if (needed !== 'any number of shards') await assertSaid(redis, shards.all.length);
    return await work(redis, shards);
  } finally {
    for (const connection of opened) connection.disconnect();
  }
}

/** With another number a command looks into the wrong shards and takes their data for lost. */
async function assertSaid(redis: Redis, count: number): Promise<void> {
  await assertNotResharding(redis);
  const said = await saidShards(redis);
  if (said !== undefined && said !== count)
    throw new Away(
      `the state in Redis is divided into ${said} shards, and REDIS_SHARDS is ${count}`,
      `set REDIS_SHARDS=${said}`,
    );
}

/** Runs `work` with Kafka once a broker has answered. @throws Away within five seconds */
export async function withKafka<T>(
  shell: Shell,
  work: (kafka: Kafka, settings: KafkaConfig) => Promise<T>,
): Promise<T> {
  const settings = settingsOf(shell, kafkaEnv);
  // kafkajs also returns the faults that it logs as errors of calls.
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

/** For a host with several addresses Node reports one error for each and no message of its own. */
function causeOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(causeOf).join(', ');
  return error instanceof Error ? error.message || error.name : String(error);
}
