import { DEAD_LETTERS_QUEUE, type QueueState } from '@relay/jobs';
import { answeredWithin, type TopicLag } from '@relay/kafka';
import { globalKey, type StoreClock } from '@relay/redis';
import type { ReplayTotals } from '@relay/replays';
import { type Log, reasonOf, type ThrottledLog } from '@relay/telemetry';
import type { Redis } from 'ioredis';
import { Gauge, type Registry } from 'prom-client';
import type { RedisDisks, RedisMemory, ShardState } from './redis-states.adapter.js';

/** Functions that read the stores. If a read is rejected, its gauges have no value in this scrape. */
export interface StoreSources {
  queues(): Promise<readonly QueueState[]>;
  lag(): Promise<readonly TopicLag[]>;
  memory(): Promise<RedisMemory>;
  disks(): Promise<RedisDisks>;
  webhooks(): Promise<Readonly<Record<string, number>>>;
  parked(): Promise<number>;
  notices(): Promise<number>;
  /** Totals of the replays that were ordered within the last day. */
  replays(): Promise<ReplayTotals>;
}

const SHARED = 'The same from every worker: take max(), not sum().';

/**
 * Registers the gauges of the stores. The stores are read when the gauges are scraped. Every worker reports the same values.
 */
export function registerStoreGauges(registry: Registry, sources: StoreSources, log: ThrottledLog): void {
  const read = <T>(name: string, ask: () => Promise<T>): StoreReading<T> => new StoreReading(registry, log, name, ask);

  read('queues', () => sources.queues())
    .gauge('relay_queue_jobs', `Jobs by queue and state. ${SHARED}`, ['queue', 'state'], (states) =>
      states.map(({ queue, state, jobs }): Sample => [{ queue, state }, jobs]),
    )
    .gauge(
      'relay_queue_oldest_job_age_seconds',
      `Age of the oldest job: waiting and delayed since it was due, active since its attempt began, failed since it was made; 0 where there is none. ${SHARED}`,
      ['queue', 'state'],
      (states) => states.map(({ queue, state, oldestS }): Sample => [{ queue, state }, oldestS ?? 0]),
    )
    .gauge('relay_dead_letters', `Deliveries given up and kept. ${SHARED}`, [], (states) => [
      [{}, states.reduce((sum, { queue, jobs }) => sum + (queue === DEAD_LETTERS_QUEUE ? jobs : 0), 0)],
    ]);
  read('lag', () => sources.lag()).gauge(
    'relay_kafka_consumer_lag',
    `Records of a topic that the workers have not settled and committed. ${SHARED}`,
    ['topic'],
    (topics) => topics.map(({ topic, lag }): Sample => [{ topic }, lag]),
  );
  read('memory', () => sources.memory())
    .gauge('relay_redis_memory_used_bytes', `Memory that Redis uses. ${SHARED}`, [], ({ used }) => [[{}, used]])
    .gauge('relay_redis_memory_max_bytes', `maxmemory of Redis; 0: it has no limit. ${SHARED}`, [], ({ max }) => [
      [{}, max],
    ]);
  read('disks', () => sources.disks())
    .gauge(
      'relay_redis_disk_ok',
      `Whether Redis writes to its disk without a fault: 0 after a write, a rewrite of its file or a snapshot that failed. ${SHARED}`,
      [],
      ({ isWell }) => [[{}, isWell ? 1 : 0]],
    )
    .gauge(
      'relay_redis_uptime_seconds',
      `Time since Redis started; of several, the last one. ${SHARED}`,
      [],
      ({ uptimeS }) => [[{}, uptimeS]],
    );
  read('webhooks', () => sources.webhooks()).gauge(
    'relay_webhooks',
    `Registrations by status. ${SHARED}`,
    ['status'],
    (counts) => samplesOf('status', counts),
  );
  read('parked', () => sources.parked()).gauge(
    'relay_webhooks_parked',
    `Webhooks for which something waits in the log: over their queue limit, disabled, or being caught up. ${SHARED}`,
    [],
    (count) => [[{}, count]],
  );
  read('notices', () => sources.notices()).gauge(
    'relay_notices_waiting',
    `Notices to partners that Kafka does not have yet. ${SHARED}`,
    [],
    (count) => [[{}, count]],
  );
  read('replays', () => sources.replays())
    .gauge('relay_replays', `Replays under way by state. ${SHARED}`, ['state'], ({ replays }) =>
      samplesOf('state', replays),
    )
    .gauge(
      'relay_replay_deliveries',
      `Deliveries of the replays ordered within a day: done, failed (left to the queue) and left. ${SHARED}`,
      ['result'],
      ({ deliveries }) => samplesOf('result', deliveries),
    );
}

const samplesOf = (label: string, counts: Readonly<Record<string, number>>): Sample[] =>
  Object.entries(counts).map(([value, count]): Sample => [{ [label]: value }, count]);

type States = readonly (ShardState | undefined)[];

/**
 * Registers the gauges of the shards and of their Redis Cluster. With one shard, these gauges have no values.
 * @param read returns the state of each shard, undefined for a shard that does not answer; an empty list if there is one
 *   shard
 */
export function registerShardGauges(registry: Registry, read: () => Promise<States>, log: ThrottledLog): void {
  new StoreReading(registry, log, 'shards', read)
    .gauge('relay_shard_up', '1 while the shard answers this worker: take min().', ['shard'], (states) =>
      states.map((state, shard) => [{ shard: String(shard) }, state === undefined ? 0 : 1]),
    )
    .gauge(
      'relay_shard_jobs',
      `Jobs of the shard by queue, in whatever state. ${SHARED}`,
      ['shard', 'queue'],
      each(({ jobs }, shard) => Object.entries(jobs).map(([queue, count]): Sample => [{ shard, queue }, count])),
    )
    .gauge(
      'relay_shard_memory_used_bytes',
      `Memory that the server of the shard uses. ${SHARED}`,
      ['shard'],
      each(({ memory }, shard) => [[{ shard }, memory.used]]),
    )
    .gauge(
      'relay_shard_memory_max_bytes',
      `maxmemory of the server of the shard; 0: it has no limit. ${SHARED}`,
      ['shard'],
      each(({ memory }, shard) => [[{ shard }, memory.max]]),
    )
    .gauge(
      'relay_cluster_ok',
      '1 while every node of the Redis Cluster that has a shard says that its state is ok, by this worker: take min().',
      [],
      (states) => clustersOf(states, (clusters) => Math.min(...clusters.map(({ isOk }) => Number(isOk)))),
    )
    .gauge('relay_cluster_primaries', `Primaries of the Redis Cluster that have slots. ${SHARED}`, [], (states) =>
      clustersOf(states, (clusters) => Math.max(...clusters.map(({ primaries }) => primaries))),
    )
    .gauge(
      'relay_cluster_shards_most',
      `Shards on the node of the Redis Cluster that has most of them. ${SHARED}`,
      [],
      (states) => clustersOf(states, () => most(states)),
    );
}

const each =
  (samples: (state: ShardState, shard: string) => Sample[]) =>
  (states: States): Sample[] =>
    states.flatMap((state, shard) => (state === undefined ? [] : samples(state, String(shard))));

type Clusters = readonly NonNullable<ShardState['cluster']>[];

/** Returns no sample if no server belongs to a cluster. */
function clustersOf(states: States, value: (clusters: Clusters) => number): Sample[] {
  const clusters = states.flatMap((state) => state?.cluster ?? []);
  return clusters.length === 0 ? [] : [[{}, value(clusters)]];
}

function most(states: States): number {
  const counts = new Map<string, number>();
  for (const state of states) if (state !== undefined) counts.set(state.server, (counts.get(state.server) ?? 0) + 1);
  return Math.max(...counts.values());
}

/** Registers a gauge that gets its value from the memory of this process, without a request to Redis or Kafka. */
function registerValue(registry: Registry, name: string, help: string, value: () => number): void {
  registry.registerMetric(
    new Gauge({
      name,
      help,
      registers: [],
      collect() {
        this.set(value());
      },
    }),
  );
}

export function registerClock(registry: Registry, clock: Pick<StoreClock, 'hostAheadMs'>): void {
  const help = "By how much the clock of the host is ahead of Redis'; negative when it is behind.";
  registerValue(registry, 'relay_clock_ahead_seconds', help, () => clock.hostAheadMs / 1_000);
}

/**
 * Keeps the clock of the process at Redis' time, registers a gauge for how far the host's clock is ahead of it, and logs if
 * the difference is too large.
 * @param changed called when a fault begins, and with undefined when it ends
 */
export function watchClock(
  clock: StoreClock,
  redis: Redis,
  registry: Registry,
  log: Log,
  changed: (fault: string | undefined) => void = () => undefined,
): void {
  registerClock(registry, clock);
  let isTold = false;
  clock.follow(redis, () => {
    const { fault } = clock;
    if ((fault !== undefined) === isTold) return;
    isTold = fault !== undefined;
    if (fault === undefined) log.info('clock.right', 'The clocks of this host and of Redis agree again');
    else log.error('clock.off', fault, { aheadMs: clock.hostAheadMs });
    changed(fault);
  });
}

/** Registers a gauge for the number of registered keys that this process does not have. */
export function registerMissingKeys(registry: Registry, keyring: { readonly missing: ReadonlySet<string> }): void {
  const help = 'Registered encryption keys that ENCRYPTION_KEYS of this process lacks.';
  registerValue(registry, 'relay_keys_missing', help, () => keyring.missing.size);
}

const FIRST_SEEN = globalKey('keys', 'first-seen');

/** Returns the name of the key that writes or signs, which is the first key of `kid:base64,…`. */
const firstKid = (keys: string): string => keys.slice(0, keys.indexOf(':')).trim();

/**
 * Registers a gauge for the age of the key that writes or signs, for each use of keys. An alert on it asks for a rotation. A
 * key does not contain its creation time, so the first process that sees the key's name stores the time in Redis.
 */
export function registerKeyAges(
  registry: Registry,
  redis: Redis,
  keys: Readonly<Record<string, string>>,
  log: ThrottledLog,
): void {
  new StoreReading(registry, log, 'keys', () => readAges(redis, keys, Date.now())).gauge(
    'relay_key_age_seconds',
    'Since the key that writes or signs was first seen. The same from every process: take max(), not sum().',
    ['use'],
    (ages) => ages,
  );
}

function readAges(redis: Redis, keys: Readonly<Record<string, string>>, now: number): Promise<Sample[]> {
  return Promise.all(
    Object.entries(keys).map(async ([use, text]): Promise<Sample> => {
      const field = `${use}:${firstKid(text)}`;
      await redis.hsetnx(FIRST_SEEN, field, now);
      const since = Number((await redis.hget(FIRST_SEEN, field)) ?? now);
      return [{ use }, Math.max(0, now - since) / 1_000];
    }),
  );
}

/** Labels and value of one line in a scrape. */
export type Sample = readonly [Readonly<Record<string, string>>, number];

const FRESH_MS = 5_000;
const PATIENCE_MS = 3_000;

/**
 * Reads a store for its gauges, at most every 5 s for any number of scrapes. If there is no answer within 3 s, the gauges
 * have no value, instead of an old one.
 */
class StoreReading<T> {
  #last: { readonly at: number; readonly value: Promise<T | undefined> } | undefined;

  constructor(
    private readonly registry: Registry,
    private readonly log: ThrottledLog,
    private readonly name: string,
    private readonly ask: () => Promise<T>,
  ) {}

  /** Registers a gauge. The store is read when the gauge is scraped. */
  gauge(name: string, help: string, labelNames: string[], samplesIn: (value: T) => readonly Sample[]): this {
    const read = (): Promise<T | undefined> => this.#read();
    this.registry.registerMetric(
      new Gauge({
        name,
        help,
        labelNames,
        registers: [],
        async collect() {
          const value = await read();
          this.reset();
          if (labelNames.length === 0) this.remove(); // for a gauge without labels, reset() sets the value 0
          for (const [labels, count] of value === undefined ? [] : samplesIn(value)) this.set(labels, count);
        },
      }),
    );
    return this;
  }

  #read(): Promise<T | undefined> {
    const now = performance.now();
    if (this.#last === undefined || now - this.#last.at >= FRESH_MS) this.#last = { at: now, value: this.#ask() };
    return this.#last.value;
  }

  async #ask(): Promise<T | undefined> {
    try {
      return await answeredWithin(PATIENCE_MS, this.ask(), () => new Error(`no answer in ${PATIENCE_MS} ms`));
    } catch (error) {
      this.log.warn('metrics.unread', 'A store did not report its figures; their metrics are missing in this scrape', {
        figures: this.name,
        reason: reasonOf(error),
      });
      return undefined;
    }
  }
}
