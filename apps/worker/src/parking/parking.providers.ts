import type { Provider } from '@nestjs/common';
import { RedisSeenStore, type SeenEntry } from '@relay/dedupe';
import { operationsRecord, operationsTopic, topicOf, type EventType, type LogRecord } from '@relay/events';
import { logRecordOf, readRanges } from '@relay/kafka';
import { Keyring } from '@relay/keyring';
import { DeadLetterBox, DeadLetterDesk, LetterEnds } from '@relay/operations';
import { readRangeKey, Replays } from '@relay/progress';
import { Publisher } from '@relay/publishing';
import { RegistryView } from '@relay/registry';
import { HeldJobs, LetterIndex, RetryQueue, WaitingJobs } from '@relay/retry';
import { ThrottledLog } from '@relay/telemetry';
import { RedisWebhookItems, RedisWebhookView } from '@relay/webhooks';
import { Redis } from 'ioredis';
import { Kafka, type Admin } from 'kafkajs';
import { Breakers } from '../delivery/breakers.js';
import { DeliveryDispatcher } from '../delivery/delivery-dispatcher.js';
import { DeliveryMetrics } from '../delivery/delivery-metrics.js';
import { EventReporter } from '../reporting/event-reporter.js';
import { LogReader } from '../log/log-reader.js';
import { ReadingPause } from '../log/reading-pause.js';
import type { WorkerConfig } from '../worker.config.js';
import { CatchUp, type CatchUpParts } from '../catch-up/catch-up.js';
import { ExpiryWatch, type ExpiryWatchParts } from './expiry-watch.js';
import { FailedDeliveries } from '../replays/failed-deliveries.js';
import { FailingWebhooks } from '../webhook-health/failing-webhooks.adapter.js';
import { HeldDeliveries } from '../queue/held-deliveries.js';
import { Pace } from '../catch-up/catch-up-throttle.js';
import { ParkingRule } from './parking-rule.js';
import { ReplayOrders } from '../replays/replay-orders.js';
import { WaitingCounts } from './waiting-counts.js';
import { WebhookHealth } from '../webhook-health/webhook-health.js';

/** Read at once of a partition that is read again: live deliveries wait while it is unpacked. */
const READ_BACK_BYTES = 64 * 1024;

/** Where nothing has come for so long, what waits is caught up faster. */
const LIVE_MS = 5_000;

/** What tells operators of webhooks that were disabled, parked or overtaken. */
export class OperationsReporter extends EventReporter {}

/** Under what the worker provides Kafka's admin and the queue's connection to Redis. */
export interface Drivers {
  readonly admin: symbol;
  readonly queueRedis: symbol;
}

/** Parking, catching up and disabling: which adapter stands behind what. */
export const parkingProviders = (config: WorkerConfig, { admin, queueRedis }: Drivers): Provider[] => [
  {
    provide: OperationsReporter,
    useFactory: (publisher: Publisher, log: ThrottledLog) =>
      new OperationsReporter(publisher, operationsTopic(config.KAFKA_TOPIC_PREFIX), log),
    inject: [Publisher, ThrottledLog],
  },
  { provide: HeldJobs, useFactory: (redis: Redis) => new HeldJobs(redis), inject: [queueRedis] },
  {
    provide: HeldDeliveries,
    useFactory: (held: HeldJobs, webhooks: RedisWebhookView, log: ThrottledLog) =>
      new HeldDeliveries(held, currentWebhooks(webhooks), log),
    inject: [HeldJobs, RedisWebhookView, ThrottledLog],
  },
  { provide: WaitingJobs, useFactory: (redis: Redis) => new WaitingJobs(redis), inject: [Redis] },
  {
    provide: WaitingCounts,
    useFactory: (jobs: WaitingJobs, webhooks: RedisWebhookView, log: ThrottledLog) =>
      new WaitingCounts(jobs, (id) => webhooks.find(id)?.partnerId, log),
    inject: [WaitingJobs, RedisWebhookView, ThrottledLog],
  },
  {
    provide: ParkingRule,
    useFactory: (counts: WaitingCounts, breakers: Breakers) =>
      new ParkingRule(counts, { perWebhook: config.WEBHOOK_QUEUE_LIMIT, total: config.QUEUE_LIMIT }, (endpoint) =>
        breakers.isBarred(endpoint, Date.now()),
      ),
    inject: [WaitingCounts, Breakers],
  },
  {
    provide: WebhookHealth,
    useFactory: (
      redis: Redis,
      registry: RegistryView,
      keyring: Keyring,
      webhooks: RedisWebhookView,
      operations: OperationsReporter,
      log: ThrottledLog,
    ) => {
      const items = new RedisWebhookItems(redis, registry.of('webhook'), keyring, Date.now);
      return new WebhookHealth(new FailingWebhooks(redis), items, (id) => webhooks.find(id), operations, log);
    },
    inject: [Redis, RegistryView, Keyring, RedisWebhookView, OperationsReporter, ThrottledLog],
  },
  {
    provide: ReplayOrders,
    useFactory: (redis: Redis, reader: LogReader, webhooks: RedisWebhookView, log: ThrottledLog) =>
      new ReplayOrders(
        new Replays(redis),
        () => reader.catchUpPartitions(),
        (key) => {
          const type = webhooks.find(readRangeKey(key).webhookId)?.eventType;
          return type === undefined ? undefined : topicOf(config.KAFKA_TOPIC_PREFIX, type as EventType);
        },
        log,
      ),
    inject: [Redis, LogReader, RedisWebhookView, ThrottledLog],
  },
  {
    provide: FailedDeliveries,
    useFactory: (
      redis: Redis,
      waiting: Redis,
      queue: RetryQueue,
      webhooks: RedisWebhookView,
      publisher: Publisher,
      log: ThrottledLog,
    ) => {
      const [index, ends] = [new LetterIndex(redis), new LetterEnds(publisher, config.KAFKA_TOPIC_PREFIX)];
      const desk = new DeadLetterDesk(new DeadLetterBox(waiting), queue, webhooks, ends, Date.now);
      return new FailedDeliveries({
        lettersOf: async (envelopeId) => (await index.ofEnvelope(envelopeId)).dead,
        replay: async (letters) => (await desk.replayLetters(letters)).replayed,
        log,
      });
    },
    inject: [Redis, queueRedis, RetryQueue, RedisWebhookView, Publisher, ThrottledLog],
  },
  {
    provide: CatchUp,
    useFactory: (
      redis: Redis,
      kafka: Kafka,
      kafkaAdmin: Admin,
      reader: LogReader,
      webhooks: RedisWebhookView,
      operations: OperationsReporter,
      ...[rule, counts, courier, queue, reading, replays, failed, metrics, log]: [
        ParkingRule,
        WaitingCounts,
        DeliveryDispatcher,
        RetryQueue,
        ReadingPause,
        ReplayOrders,
        FailedDeliveries,
        DeliveryMetrics,
        ThrottledLog,
      ]
    ) =>
      new CatchUp({
        partitions: () => reader.catchUpPartitions(),
        webhooks: currentWebhooks(webhooks),
        rule,
        counts,
        courier,
        queue,
        reading,
        pace: new Pace(() => courier.idleMs < LIVE_MS),
        replays: { isPaused: (key) => replays.isPaused(key), conflicts: conflictsIn(redis, config) },
        failed,
        read: readBack(kafka, config),
        lowest: lowestIn(kafkaAdmin),
        expired: tellExpired(operations, metrics, log),
        topicPrefix: config.KAFKA_TOPIC_PREFIX,
        log,
      }),
    inject: [
      Redis,
      Kafka,
      admin,
      LogReader,
      RedisWebhookView,
      OperationsReporter,
      ParkingRule,
      WaitingCounts,
      DeliveryDispatcher,
      RetryQueue,
      ReadingPause,
      ReplayOrders,
      FailedDeliveries,
      DeliveryMetrics,
      ThrottledLog,
    ],
  },
  {
    provide: ExpiryWatch,
    useFactory: (
      kafka: Kafka,
      kafkaAdmin: Admin,
      reader: LogReader,
      webhooks: RedisWebhookView,
      operations: OperationsReporter,
      metrics: DeliveryMetrics,
      log: ThrottledLog,
    ) =>
      new ExpiryWatch({
        partitions: () => reader.catchUpPartitions(),
        find: (id) => webhooks.find(id),
        lowest: lowestIn(kafkaAdmin),
        recordAt: async (at, offset) => {
          let found: LogRecord | undefined;
          await readBack(kafka, config)({ ...at, from: offset, end: offset + 1 }, async ([first]) => {
            found ??= first;
          });
          return found;
        },
        expiring: tellExpiring(operations, log),
        expired: tellExpired(operations, metrics, log),
        log,
      }),
    inject: [Kafka, admin, LogReader, RedisWebhookView, OperationsReporter, DeliveryMetrics, ThrottledLog],
  },
];

const currentWebhooks = (webhooks: RedisWebhookView): CatchUpParts['webhooks'] => ({
  current: () => webhooks.refresh(),
  find: (id) => webhooks.find(id),
});

const readBack =
  (kafka: Kafka, { KAFKA_CONSUMER_GROUP: group }: WorkerConfig): CatchUpParts['read'] =>
  (range, take) =>
    readRanges(kafka, [range], group, (_range, messages) => take(messages.map(logRecordOf)), READ_BACK_BYTES);

const lowestIn =
  (kafkaAdmin: Admin): CatchUpParts['lowest'] =>
  async ({ topic, partition }) => {
    const bounds = await kafkaAdmin.fetchTopicOffsets(topic);
    return Number(bounds.find((entry) => entry.partition === partition)?.low ?? 0);
  };

/** What the marks do not know any more passes: its id is free again. */
const conflictsIn = (redis: Redis, { DEDUPE_WINDOW }: WorkerConfig): CatchUpParts['replays']['conflicts'] => {
  const seen = new RedisSeenStore(redis, DEDUPE_WINDOW);
  return async (entries: readonly SeenEntry[]) => {
    const marks = await seen.find(entries.map(({ id }) => id));
    return new Set(entries.flatMap(({ id, hash }, index) => ((marks[index]?.hash ?? hash) === hash ? [] : [id])));
  };
};

const tellExpiring =
  (operations: EventReporter, log: ThrottledLog): ExpiryWatchParts['expiring'] =>
  ({ id: webhookId, partnerId }, at, from) => {
    const facts = { webhookId, partnerId, ...at, expiresFrom: new Date(from).toISOString() };
    log.warn(
      'webhook.expiring',
      'Records that wait in the log for a parked webhook are near the end of what its topic keeps; have its endpoint mended, or raise retention.ms of the topic',
      facts,
    );
    operations.tell(webhookId, operationsRecord('webhook.expiring', facts, Date.now()));
  };

const tellExpired =
  (operations: EventReporter, metrics: DeliveryMetrics, log: ThrottledLog): CatchUpParts['expired'] =>
  ({ id: webhookId, partnerId }, at, records) => {
    metrics.expired(records);
    const facts = { webhookId, partnerId, ...at, records };
    log.warn(
      'webhook.expired',
      'Records that waited in the log for a parked webhook were dropped by the retention of its topic; replay them from their source',
      facts,
    );
    operations.tell(webhookId, operationsRecord('webhook.expired', facts, Date.now()));
  };
