import { type Condition, REDIS_CONDITIONS, TOPIC_CONDITIONS } from '@relay/doctor';
import { findTopics, LOG_RETENTION_MS, readTopicConfigs } from '@relay/kafka';
import { isRedisAway, type Shards } from '@relay/redis';
import { reasonOf, type Log } from '@relay/telemetry';
import type { WorkerConfig } from '@relay/settings';
import type { Admin } from 'kafkajs';
import { Gauge, type Registry } from 'prom-client';

const LOOK_MS = 60_000;

/** Looks at the conditions of the promise: at the start, at each new connection to Redis, and each minute. */
export class StoreConditions {
  /** What does not hold, by the name of the condition. */
  readonly #broken = new Map<string, string>();
  readonly #retentionMs = new Map<string, number>();
  #unread: string | undefined;

  constructor(
    private readonly shards: Pick<Shards, 'connections'>,
    private readonly admin: Admin,
    private readonly config: WorkerConfig,
    registry: Registry,
    private readonly log: Pick<Log, 'error' | 'warn' | 'info'>,
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

  /** What keeps this worker from being ready. */
  get fault(): string | undefined {
    const needed = [...REDIS_CONDITIONS, ...TOPIC_CONDITIONS].filter(({ isNeeded }) => isNeeded);
    return needed.map(({ name }) => this.#broken.get(name)).find((reason) => reason !== undefined);
  }

  /** For how long the topic keeps a record, as of the last look; Infinity without a limit. */
  retentionMs(topic: string): number {
    return this.#retentionMs.get(topic) ?? LOG_RETENTION_MS;
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
    try {
      const infos = await Promise.all(this.shards.connections.map((redis) => redis.info()));
      for (const condition of REDIS_CONDITIONS) this.#judge(condition, infos);
    } catch (error) {
      // A Redis that is away is told by its connection.
      if (!isRedisAway(error)) this.#isUnread(error);
    }
  }

  async #lookAtTopics(): Promise<void> {
    try {
      const found = await findTopics(this.admin, this.config);
      const configs = await readTopicConfigs(this.admin, this.config).catch((error: unknown) => {
        this.#isUnread(error);
        return undefined;
      });
      for (const { topic, config } of configs ?? []) {
        const ms = Number(config['retention.ms']);
        this.#retentionMs.set(topic, ms < 0 ? Infinity : ms);
      }
      for (const condition of TOPIC_CONDITIONS) this.#judge(condition, [{ settings: this.config, found, configs }]);
      if (configs !== undefined) this.#unread = undefined;
    } catch (error) {
      this.#isUnread(error);
    }
  }

  #judge<Facts>({ name, broken }: Condition<Facts>, facts: readonly Facts[]): void {
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

  #isUnread(error: unknown): void {
    const reason = reasonOf(error);
    if (reason === this.#unread) return;
    this.#unread = reason;
    this.log.warn('condition.unread', 'Settings that the promise depends on cannot be read; they count as right', {
      reason,
    });
  }
}
