import { Inject, Injectable } from '@nestjs/common';
import { type Condition, REDIS_CONDITIONS, TOPIC_CONDITIONS } from '@relay/doctor';
import { findTopics, type KafkaAdmin, LOG_RETENTION_MS, readTopicConfigs, type TopicConfigFound } from '@relay/kafka';
import { isRedisAway, Shards } from '@relay/redis';
import { Log, reasonOf } from '@relay/telemetry';
import type { WorkerConfig } from '@relay/settings';
import type { Redis } from 'ioredis';
import { Gauge, Registry } from 'prom-client';
import { KAFKA_ADMIN, WORKER_CONFIG } from './tokens.js';

const LOOK_MS = 60_000;

/**
 * Checks the settings of Redis and Kafka without which the relay may lose or never deliver an envelope. The checks run at
 * the start, at each new connection to Redis, and every minute.
 */
@Injectable()
export class StoreConditions {
  /** For each broken condition, its name and the reason why it is broken. */
  readonly #broken = new Map<string, string>();
  /** The last answer of each Redis server. It is used for as long as that server does not answer. */
  readonly #infos = new Map<Redis, string>();
  #configs: readonly TopicConfigFound[] | undefined;
  /** For each store whose settings cannot be read, the reason why not. */
  readonly #unread = new Map<'Redis' | 'Kafka', string>();

  constructor(
    @Inject(Shards) private readonly shards: Pick<Shards, 'connections'>,
    @Inject(KAFKA_ADMIN) private readonly admin: KafkaAdmin,
    @Inject(WORKER_CONFIG) private readonly config: WorkerConfig,
    registry: Registry,
    @Inject(Log) private readonly log: Pick<Log, 'error' | 'warn' | 'info'>,
  ) {
    const broken = this.#broken;
    registry.registerMetric(
      new Gauge({
        name: 'relay_condition_broken',
        help: 'Whether a setting of Redis or Kafka breaks the promise. The same from every worker: take max(), not sum().',
        labelNames: ['condition'],
        registers: [],
        collect() {
          for (const { name } of [...REDIS_CONDITIONS, ...TOPIC_CONDITIONS])
            this.set({ condition: name }, broken.has(name) ? 1 : 0);
        },
      }),
    );
  }

  /** Returns the reason why this worker must not be ready; undefined if all conditions that it needs are met. */
  get fault(): string | undefined {
    const needed = [...REDIS_CONDITIONS, ...TOPIC_CONDITIONS].filter(({ isNeeded }) => isNeeded);
    return needed.map(({ name }) => this.#broken.get(name)).find((reason) => reason !== undefined);
  }

  /** Returns how long in ms the topic keeps a record, as of the last check; Infinity if the topic has no limit. */
  retentionMs(topic: string): number {
    const ms = Number(
      this.#configs?.find((found) => found.topic === topic)?.config['retention.ms'] ?? LOG_RETENTION_MS,
    );
    return ms < 0 ? Infinity : ms;
  }

  start(): void {
    for (const redis of this.shards.connections) redis.on('ready', () => void this.#lookAtRedis());
    setInterval(() => void this.look(), LOOK_MS).unref();
    void this.look();
  }

  async look(): Promise<void> {
    await Promise.all([this.#lookAtRedis(), this.#lookAtTopics()]);
  }

  async #lookAtRedis(): Promise<void> {
    const looks = await Promise.allSettled(
      this.shards.connections.map(async (redis) => void this.#infos.set(redis, await redis.info())),
    );
    for (const condition of REDIS_CONDITIONS) this.#judge(condition, [...this.#infos.values()]);
    // An unreachable Redis is not reported here, because its connection logs that itself.
    const failed = looks.find((look) => look.status === 'rejected' && !isRedisAway(look.reason));
    this.#read('Redis', failed);
  }

  async #lookAtTopics(): Promise<void> {
    const [topics, configs] = await Promise.allSettled([
      findTopics(this.admin, this.config),
      readTopicConfigs(this.admin, this.config),
    ]);
    if (configs.status === 'fulfilled') this.#configs = configs.value;
    if (topics.status === 'fulfilled') {
      const facts = { settings: this.config, found: topics.value, configs: this.#configs };
      for (const condition of TOPIC_CONDITIONS) this.#judge(condition, [facts]);
    }
    this.#read(
      'Kafka',
      [topics, configs].find(({ status }) => status === 'rejected'),
    );
  }

  #judge<Facts>({ name, broken, isOfProduction }: Condition<Facts>, facts: readonly Facts[]): void {
    if (isOfProduction && this.config.RELAY_ENV !== 'production') return;
    const reasons = facts.flatMap((each) => broken(each)).map(({ text, fix }) => `${text}: ${fix}`);
    const reason = reasons.length === 0 ? undefined : [...new Set(reasons)].join(' ');
    if (reason === this.#broken.get(name)) return;
    if (reason === undefined) {
      this.#broken.delete(name);
      this.log.info('condition.holds', 'A setting that the promise depends on is right again', { condition: name });
      return;
    }
    this.#broken.set(name, reason);
    this.log.error(
      'condition.broken',
      'A setting of Redis or Kafka breaks the promise of the relay; mend it as `reason` says',
      { condition: name, reason },
    );
  }

  /** @param failed the request that failed; undefined if every request succeeded */
  #read(store: 'Redis' | 'Kafka', failed: PromiseSettledResult<unknown> | undefined): void {
    if (failed?.status !== 'rejected') return void this.#unread.delete(store);
    const reason = reasonOf(failed.reason);
    if (reason === this.#unread.get(store)) return;
    this.#unread.set(store, reason);
    this.log.warn('condition.unread', 'Settings that the promise depends on cannot be read; they count as last read', {
      store,
      reason,
    });
  }
}
