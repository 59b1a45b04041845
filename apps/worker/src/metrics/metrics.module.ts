import { Inject, Injectable, Module } from '@nestjs/common';
import { envelopeTopics } from '@relay/events';
import { readQueues } from '@relay/jobs';
import { type KafkaAdmin, readLag, type TopicLag } from '@relay/kafka';
import {
  fullestMemory,
  readDisks,
  readShards,
  registerKeyAges,
  registerShardGauges,
  registerStoreGauges,
} from '@relay/metrics';
import { NoticeLines } from '@relay/notices';
import { parkedWebhooks, withShownStatus } from '@relay/progress';
import { Shards } from '@relay/redis';
import { Replays, replayTotals } from '@relay/replays';
import type { WorkerConfig } from '@relay/settings';
import { Health, registerProcessMetrics, ThrottledLog } from '@relay/telemetry';
import { RedisWebhookView, UNVERIFIED } from '@relay/webhooks';
import { Redis } from 'ioredis';
import { Registry } from 'prom-client';
import { DeliveryMetrics } from './delivery-metrics.js';
import { KAFKA_ADMIN, WORKER_CONFIG } from '../platform/tokens.js';
import { RegistryModule } from '../registry/registry.module.js';

/** Reads how far the consumer group lags behind on the envelope topics. */
@Injectable()
export class ConsumerLag {
  constructor(
    @Inject(KAFKA_ADMIN) private readonly admin: KafkaAdmin,
    @Inject(WORKER_CONFIG) private readonly config: WorkerConfig,
  ) {}

  read(): Promise<TopicLag[]> {
    const { KAFKA_CONSUMER_GROUP: group, KAFKA_TOPIC_PREFIX: prefix } = this.config;
    return readLag(this.admin, group, envelopeTopics(prefix));
  }
}

/** The metrics that every process has: role, version, health, and the age of its keys. */
@Injectable()
export class ProcessMetrics {
  constructor(
    registry: Registry,
    health: Health,
    redis: Redis,
    log: ThrottledLog,
    @Inject(WORKER_CONFIG) config: Pick<WorkerConfig, 'ENCRYPTION_KEYS'>,
  ) {
    registerProcessMetrics(registry, 'worker', health);
    registerKeyAges(registry, redis, { encryption: config.ENCRYPTION_KEYS }, log);
  }
}

const DAY_MS = 86_400_000;
/** Maximum number of replays that are read for one scrape, newest first. */
const MAX_REPLAYS = 1_000;

/** The metrics that are read from Redis and Kafka at each scrape. */
@Injectable()
export class StoreMetrics {
  constructor(registry: Registry, shards: Shards, webhooks: RedisWebhookView, lag: ConsumerLag, log: ThrottledLog) {
    const replays = new Replays(shards.global, shards);
    registerStoreGauges(
      registry,
      {
        queues: () => readQueues(shards, Date.now()),
        lag: () => lag.read(),
        memory: () => fullestMemory(shards),
        disks: () => readDisks(shards),
        webhooks: () => webhooksByStatus(shards, webhooks),
        parked: async () => (await parkedWebhooks(shards)).size,
        notices: () => new NoticeLines(shards.global, shards).count(),
        replays: async () => replayTotals(await replays.newest(Date.now() - DAY_MS, MAX_REPLAYS, Date.now())),
      },
      log,
    );
    registerShardGauges(registry, () => readShards(shards), log);
  }
}

async function webhooksByStatus(shards: Shards, webhooks: RedisWebhookView): Promise<Record<string, number>> {
  await webhooks.refresh();
  const counts = { active: 0, parked: 0, disabled: 0, unverified: 0 };
  // A new webhook is disabled until its endpoint is verified. It counts as `unverified`, so that it sets off no alert on
  // `disabled`.
  for (const { webhook, status } of await withShownStatus(shards, webhooks.all()))
    counts[webhook.disabledReason === UNVERIFIED.disabledReason ? 'unverified' : status] += 1;
  return counts;
}

/** Metrics that belong to no single folder. Gauges that belong to one folder are registered there. */
@Module({
  imports: [RegistryModule],
  providers: [DeliveryMetrics, ConsumerLag, ProcessMetrics, StoreMetrics],
  exports: [DeliveryMetrics],
})
export class MetricsModule {}
