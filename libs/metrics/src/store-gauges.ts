import { DEAD_LETTERS_QUEUE, type QueueState } from '@relay/jobs';
import type { TopicLag } from '@relay/kafka';
import type { ReplayTotals } from '@relay/replays';
import type { ThrottledLog } from '@relay/telemetry';
import type { Registry } from 'prom-client';
import { type Sample, registerGauge } from './gauge.js';
import type { RedisDisks, RedisMemory } from './redis-memory.adapter.js';
import { SharedReading } from './shared-reading.js';

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
  const queues = new SharedReading('queues', () => sources.queues(), log);
  const lag = new SharedReading('lag', () => sources.lag(), log);
  const memory = new SharedReading('memory', () => sources.memory(), log);
  const disks = new SharedReading('disks', () => sources.disks(), log);
  const webhooks = new SharedReading('webhooks', () => sources.webhooks(), log);
  const parked = new SharedReading('parked', () => sources.parked(), log);
  const notices = new SharedReading('notices', () => sources.notices(), log);
  const replays = new SharedReading('replays', () => sources.replays(), log);

  registerGauge(
    registry,
    { name: 'relay_queue_jobs', help: `Jobs by queue and state. ${SHARED}`, labelNames: ['queue', 'state'] },
    queues,
    (states) => states.map(({ queue, state, jobs }): Sample => [{ queue, state }, jobs]),
  );
  registerGauge(
    registry,
    {
      name: 'relay_queue_oldest_job_age_seconds',
      help: `Age of the oldest job: waiting and delayed since it was due, active since its attempt began, failed since it was made; 0 where there is none. ${SHARED}`,
      labelNames: ['queue', 'state'],
    },
    queues,
    (states) => states.map(({ queue, state, oldestS }): Sample => [{ queue, state }, oldestS ?? 0]),
  );
  registerGauge(
    registry,
    { name: 'relay_dead_letters', help: `Deliveries given up and kept. ${SHARED}` },
    queues,
    (states) => [[{}, sumOf(states.filter(({ queue }) => queue === DEAD_LETTERS_QUEUE).map(({ jobs }) => jobs))]],
  );
  registerGauge(
    registry,
    {
      name: 'relay_kafka_consumer_lag',
      help: `Records of a topic that the workers have not settled and committed. ${SHARED}`,
      labelNames: ['topic'],
    },
    lag,
    (topics) => topics.map(({ topic, lag: records }): Sample => [{ topic }, records]),
  );
  registerGauge(
    registry,
    { name: 'relay_redis_memory_used_bytes', help: `Memory that Redis uses. ${SHARED}` },
    memory,
    ({ used }) => [[{}, used]],
  );
  registerGauge(
    registry,
    { name: 'relay_redis_memory_max_bytes', help: `maxmemory of Redis; 0: it has no limit. ${SHARED}` },
    memory,
    ({ max }) => [[{}, max]],
  );
  registerGauge(
    registry,
    {
      name: 'relay_redis_disk_ok',
      help: `Whether Redis writes to its disk without a fault: 0 after a write, a rewrite of its file or a snapshot that failed. ${SHARED}`,
    },
    disks,
    ({ isWell }) => [[{}, isWell ? 1 : 0]],
  );
  registerGauge(
    registry,
    { name: 'relay_redis_uptime_seconds', help: `Time since Redis started; of several, the last one. ${SHARED}` },
    disks,
    ({ uptimeS }) => [[{}, uptimeS]],
  );
  registerGauge(
    registry,
    { name: 'relay_webhooks', help: `Registrations by status. ${SHARED}`, labelNames: ['status'] },
    webhooks,
    (byStatus) => Object.entries(byStatus).map(([status, count]): Sample => [{ status }, count]),
  );
  registerGauge(
    registry,
    {
      name: 'relay_webhooks_parked',
      help: `Webhooks for which something waits in the log: over their queue limit, disabled, or being caught up. ${SHARED}`,
    },
    parked,
    (count) => [[{}, count]],
  );
  registerGauge(
    registry,
    { name: 'relay_notices_waiting', help: `Notices to partners that Kafka does not have yet. ${SHARED}` },
    notices,
    (count) => [[{}, count]],
  );
  registerGauge(
    registry,
    { name: 'relay_replays', help: `Replays under way by state. ${SHARED}`, labelNames: ['state'] },
    replays,
    ({ replays: byState }) => Object.entries(byState).map(([state, count]): Sample => [{ state }, count]),
  );
  registerGauge(
    registry,
    {
      name: 'relay_replay_deliveries',
      help: `Deliveries of the replays ordered within a day: done, failed (left to the queue) and left. ${SHARED}`,
      labelNames: ['result'],
    },
    replays,
    ({ deliveries }) => Object.entries(deliveries).map(([result, count]): Sample => [{ result }, count]),
  );
}

const sumOf = (numbers: readonly number[]): number => numbers.reduce((sum, number) => sum + number, 0);
