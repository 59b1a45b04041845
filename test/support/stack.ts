import { randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectKafka } from '@relay/kafka';
import { isParked } from '@relay/progress';
import type { Shards } from '@relay/redis';
import type { Redis } from 'ioredis';
import type { Admin, Kafka } from 'kafkajs';
import { App } from './app.js';
import { relayInProcess } from './in-process-relay.js';
import { RedisCorner } from './redis-corner.js';
import { Topic } from './topic.js';
import { until } from './until.js';

export type Settings = Readonly<Record<string, string>>;

type Issued = Readonly<Record<'clientId' | 'clientSecret' | 'apiKey' | 'userName' | 'password', string>>;

/** Commands that open the stores themselves, or ask the ingress; the others ask an operations app. */
const WITHOUT_OPERATIONS = /^(?:admin|doctor|keys|listen|recover|registry|reshard|send|topics)$/;

/** A corner of the Kafka and Redis that scripts/test.mjs started, for one spec file: its own topics, group and database. */
export class Stack {
  #door: Promise<{ readonly app: App<'operations'>; readonly env: Settings }> | undefined;
  /** For its index of attempts. */
  #folder: string | undefined;

  private constructor(
    /** Settings of every process of this relay; a spec may put its own over them. */
    readonly env: Settings,
    readonly kafka: Kafka,
    readonly admin: Admin,
    private readonly corner: RedisCorner,
  ) {}

  /** The connection to what is global, and with one shard to all. */
  get redis(): Redis {
    return this.corner.shards.global;
  }

  get shards(): Shards {
    return this.corner.shards;
  }

  /** @param envFile settings of other servers than those of scripts/test.mjs */
  static async open(settings: Settings = {}, envFile?: string): Promise<Stack> {
    const given = givenSettings(envFile);
    const corner = await RedisCorner.open(given, settings, envFile !== undefined);
    const name = `e2e-${randomUUID().slice(0, 8)}`;
    const wanted = {
      ...given,
      PATH: process.env['PATH'] ?? '',
      NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] ?? '',
      RELAY_ENV: 'production',
      KAFKA_TOPIC_PREFIX: `${name}.`,
      KAFKA_CONSUMER_GROUP: name,
      KAFKA_TOPIC_PARTITIONS: '2',
      KAFKA_TOPIC_REPLICATION: '1',
      // One file for a process: a spec that searches names its own.
      SEARCH_INDEX: 'off',
      REDIS_URL: '',
      REDIS_SHARDS: process.env['REDIS_SHARDS'] ?? '',
      ...corner.settings,
      ...settings,
    };
    // An empty setting of a spec is left out.
    const env = Object.fromEntries(Object.entries(wanted).filter(([, value]) => value !== ''));
    const brokers = (given['KAFKA_BROKERS'] ?? '').split(',');
    const kafka = connectKafka({ KAFKA_BROKERS: brokers, KAFKA_CLIENT_ID: name }, () => undefined);
    const admin = kafka.admin();
    await admin.connect();
    const stack = new Stack(env, kafka, admin, corner);
    try {
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
  async relay(...args: string[]): Promise<unknown> {
    return relayInProcess(args, WITHOUT_OPERATIONS.test(args[0] ?? '') ? this.env : await this.commandEnv());
  }

  /** A new client with its credential. @param args name and options of `relay admin clients create` */
  async client(kind: 'partner' | 'source' | 'operator', ...args: string[]): Promise<Issued> {
    return (await this.relay('admin', 'clients', 'create', kind, ...args)) as Issued;
  }

  /** Settings of the command line, which asks an operations app of this stack as an admin. The first call starts it. */
  async commandEnv(): Promise<Settings> {
    return (await (this.#door ??= this.#openDoor())).env;
  }

  async #openDoor(): Promise<{ readonly app: App<'operations'>; readonly env: Settings }> {
    this.#folder = mkdtempSync(join(tmpdir(), 'relay-operations-'));
    const [app, operator] = await Promise.all([
      App.start('operations', { ...this.env, SEARCH_INDEX: join(this.#folder, 'index.sqlite') }),
      this.client('operator', 'commands', '--role', 'admin'),
    ]);
    const { clientId, clientSecret } = operator;
    const asks = { OPERATIONS_URL: app.url, OPERATOR_CLIENT_ID: clientId, OPERATOR_CLIENT_SECRET: clientSecret };
    return { app, env: { ...this.env, ...asks } };
  }

  /** Whether deliveries to this webhook wait in the log. */
  isParked(webhookId: string): Promise<boolean> {
    return isParked(this.shards, webhookId);
  }

  /** As when Redis has lost all of its data. */
  redisLost(): Promise<void> {
    return this.corner.empty();
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

  /** Deletes topics by their whole names. The controller answers before the brokers have seen it: until then they go on with them. */
  async dropTopics(...topics: readonly string[]): Promise<void> {
    await this.admin.deleteTopics({ topics: [...topics] });
    await until('the topics are gone', async () => {
      const listed = await this.admin.listTopics();
      return !topics.some((topic) => listed.includes(topic));
    });
  }

  /** Lets go of servers that are about to end. */
  abandon(): void {
    void this.#door?.then(({ app }) => app.kill());
    this.admin.disconnect().catch(() => undefined);
    this.corner.abandon();
  }

  async close(): Promise<void> {
    await (await this.#door)?.app.stop();
    if (this.#folder !== undefined) rmSync(this.#folder, { recursive: true });
    const prefix = this.env['KAFKA_TOPIC_PREFIX'] ?? '';
    const topics = (await this.admin.listTopics()).filter((topic) => topic.startsWith(prefix));
    await this.admin.deleteTopics({ topics });
    await this.admin.disconnect();
    await this.corner.close();
  }
}

/** dev.env of the stack that scripts/test.mjs started: addresses, keys, development settings. */
export function givenSettings(file = process.env['RELAY_TEST_ENV_FILE']): Settings {
  if (file === undefined) throw new Error('RELAY_TEST_ENV_FILE is not set: run the e2e specs with scripts/test.mjs');
  const lines = readFileSync(file, 'utf8').matchAll(/^(\w+)=(.*)$/gm);
  return Object.fromEntries([...lines].map(([, name = '', value = '']) => [name, value]));
}
