import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { connectKafka } from '@relay/kafka';
import { Redis } from 'ioredis';
import type { Admin, Kafka } from 'kafkajs';
import { relayInProcess } from './in-process-relay.js';
import { Topic } from './topic.js';

export type Settings = Readonly<Record<string, string>>;

/** A corner of the Kafka and Redis that scripts/test.mjs started, for one spec file: its own topics, group and database. */
export class Stack {
  private constructor(
    /** Settings of every process of this relay; a spec may put its own over them. */
    readonly env: Settings,
    readonly kafka: Kafka,
    readonly admin: Admin,
    /** The relay's database. */
    readonly redis: Redis,
    private readonly claims: Redis,
  ) {}

  /** @param envFile settings of other servers than those of scripts/test.mjs */
  static async open(settings: Settings = {}, envFile?: string): Promise<Stack> {
    const given = givenSettings(envFile);
    const url = given['REDIS_URL'] ?? '';
    const claims = new Redis(`${url}/0`);
    const database = await claimDatabase(claims);
    const name = `e2e-${randomUUID().slice(0, 8)}`;
    const wanted = {
      ...given,
      PATH: process.env['PATH'] ?? '',
      NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] ?? '',
      RELAY_ENV: 'production',
      REDIS_URL: `${url}/${database}`,
      KAFKA_TOPIC_PREFIX: `${name}.`,
      KAFKA_CONSUMER_GROUP: name,
      KAFKA_TOPIC_PARTITIONS: '2',
      KAFKA_TOPIC_REPLICATION: '1',
      // One file for a process: a spec that searches names its own.
      SEARCH_INDEX: 'off',
      REDIS_SHARDS: process.env['REDIS_SHARDS'] ?? '',
      ...settings,
    };
    // An empty setting of a spec is left out.
    const env = Object.fromEntries(Object.entries(wanted).filter(([, value]) => value !== ''));
    const brokers = (given['KAFKA_BROKERS'] ?? '').split(',');
    const kafka = connectKafka({ KAFKA_BROKERS: brokers, KAFKA_CLIENT_ID: name }, () => undefined);
    const admin = kafka.admin();
    await admin.connect();
    const stack = new Stack(env, kafka, admin, new Redis(`${url}/${database}`), claims);
    // A spec may kill this Redis: its commands fail then, which is told enough.
    for (const redis of [stack.redis, claims]) redis.on('error', () => undefined);
    try {
      await stack.redis.flushdb(); // a spec that was killed may have left its data
      await stack.relay('topics', 'create');
      return stack;
    } catch (error) {
      await stack.close();
      throw error;
    }
  }

  topic(name: string): Topic {
    return new Topic(this.kafka, this.admin, `${this.env['KAFKA_TOPIC_PREFIX']}${name}`);
  }

  /** Runs `relay … --json` and returns what it prints. @throws Error with what it said when it fails */
  relay(...args: string[]): Promise<unknown> {
    return relayInProcess(args, this.env);
  }

  /** Records of a topic that the workers' group has not committed yet. */
  async lag(topic: string): Promise<number> {
    const { name } = this.topic(topic);
    const groupId = this.env['KAFKA_CONSUMER_GROUP'] ?? '';
    const [committed] = await this.admin.fetchOffsets({ groupId, topics: [name] });
    const ends = await this.admin.fetchTopicOffsets(name);
    return ends.reduce((sum, { partition, high }) => {
      const offset = committed?.partitions.find((entry) => entry.partition === partition)?.offset;
      return sum + Number(high) - Math.max(0, Number(offset ?? 0));
    }, 0);
  }

  /** Lets go of servers that are about to end. */
  abandon(): void {
    this.admin.disconnect().catch(() => undefined);
    this.redis.disconnect();
    this.claims.disconnect();
  }

  async close(): Promise<void> {
    const prefix = this.env['KAFKA_TOPIC_PREFIX'] ?? '';
    const topics = (await this.admin.listTopics()).filter((topic) => topic.startsWith(prefix));
    await this.admin.deleteTopics({ topics });
    await this.admin.disconnect();
    await this.redis.flushdb();
    await this.claims.del(claimOf(this.redis.options.db ?? 0));
    this.redis.disconnect();
    this.claims.disconnect();
  }
}

/** dev.env of the stack that scripts/test.mjs started: addresses, keys, development settings. */
export function givenSettings(file = process.env['RELAY_TEST_ENV_FILE']): Settings {
  if (file === undefined) throw new Error('RELAY_TEST_ENV_FILE is not set: run the e2e specs with scripts/test.mjs');
  const lines = readFileSync(file, 'utf8').matchAll(/^(\w+)=(.*)$/gm);
  return Object.fromEntries([...lines].map(([, name = '', value = '']) => [name, value]));
}

const claimOf = (database: number): string => `e2e:database:${database}`;

/** Redis has 16 databases by default; number 0 holds their users, so that spec files can run side by side. */
async function claimDatabase(redis: Redis): Promise<number> {
  for (let database = 1; database < 16; database += 1) {
    if ((await redis.set(claimOf(database), process.pid, 'EX', 900, 'NX')) === 'OK') return database;
  }
  throw new Error('every Redis database is claimed by a spec that runs or was killed');
}
