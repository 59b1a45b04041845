import { DEAD_LETTERS_QUEUE, type QueueState } from '@relay/jobs';
import type { TopicLag } from '@relay/kafka';
import type { ReplayTotals } from '@relay/replays';
import type { ThrottledLog } from '@relay/telemetry';
import type { Registry } from 'prom-client';
import type { RedisDisks, RedisMemory } from './redis-memory.adapter.js';
import { type Sample, StoreReading } from './store-reading.js';

/** Readings of the stores; a rejected one is left out of that scrape. */
export interface StoreSources {
  queues(): Promise<readonly QueueState[]>;
  lag(): Promise<readonly TopicLag[]>;
  memory(): Promise<RedisMemory>;
  disks(): Promise<RedisDisks>;
  /** Registrations by status. */
  webhooks(): Promise<Readonly<Record<string, number>>>;
  /** Number of webhooks with ranges in the log. */
  parked(): Promise<number>;
  /** Number of notices that Kafka does not have yet. */
  notices(): Promise<number>;
  /** Totals of the replays ordered within a day. */
  replays(): Promise<ReplayTotals>;
}

const SHARED = 'The same from every worker: take max(), not sum().';

/** Registers the gauges of the stores, read when they are scraped; every worker reports the same values. */
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
