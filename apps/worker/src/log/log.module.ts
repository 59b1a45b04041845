import { QUEUE_SHARDS } from '@relay/jobs';
import { Module } from '@nestjs/common';
import { envelopeTopics, eventTypes, registryTopic } from '@relay/events';
import { PartitionProgress, RedisPartitionProgress, ShardedPartitionProgress } from '@relay/progress';
import { OneServer, Shards } from '@relay/redis';
import { RegistryView } from '@relay/registry';
import { Redis } from 'ioredis';
import { DeliveryMetrics } from '../metrics/delivery-metrics.js';
import { MetricsModule } from '../metrics/metrics.module.js';
import { RegistryModule } from '../registry/registry.module.js';
import { FATAL, WORKER_CONFIG } from '../platform/tokens.js';
import type { WorkerConfig } from '@relay/settings';
import { ConsumerWatch, FetchWatch } from './consumer-watch.js';
import { KAFKA_LOG_OPTIONS, KafkaLogStrategy, type KafkaLogOptions } from './kafka-log.strategy.js';
import { LogArchive } from './log-archive.adapter.js';
import { LogReader, ShardPartitionsGauge } from './log-reader.js';
import { LOG_READER_OPTIONS, type LogReaderOptions, TopicIds } from './log-reader-options.js';
import { LastLoad, ReadingPause } from './reading-pause.js';
import { KafkaTopicIds } from './topic-ids.adapter.js';

/** Reads the log: owns partitions, finds the offset at which each begins, and pauses reading. */
@Module({
  imports: [MetricsModule, RegistryModule],
  providers: [
    {
      provide: PartitionProgress,
      useFactory: progressOf,
      inject: [RegistryView, Redis, Shards, QUEUE_SHARDS, WORKER_CONFIG],
    },
    LastLoad,
    { provide: TopicIds, useClass: KafkaTopicIds },
    {
      provide: LOG_READER_OPTIONS,
      useFactory: (config: WorkerConfig, metrics: DeliveryMetrics, shards: Shards): LogReaderOptions => ({
        groupId: config.KAFKA_CONSUMER_GROUP,
        topics: () => envelopeTopics(config.KAFKA_TOPIC_PREFIX),
        shards: shards.all.length,
        flushEveryMs: 20,
        commitEveryMs: 2_500,
        compareEveryMs: 3_000,
        expired: (records) => metrics.expired(records),
      }),
      inject: [WORKER_CONFIG, DeliveryMetrics, Shards],
    },
    {
      provide: KAFKA_LOG_OPTIONS,
      useFactory: (config: WorkerConfig, fatal: (reason: string) => void): KafkaLogOptions => ({
        groupId: config.KAFKA_CONSUMER_GROUP,
        deployment: registryTopic(config.KAFKA_TOPIC_PREFIX),
        topics: () => envelopeTopics(config.KAFKA_TOPIC_PREFIX),
        onTopics: (changed) => eventTypes.onChange(changed),
        onDead: fatal,
      }),
      inject: [WORKER_CONFIG, FATAL],
    },
    ReadingPause,
    LogReader,
    LogArchive,
    KafkaLogStrategy,
    FetchWatch,
    ConsumerWatch,
    ShardPartitionsGauge,
  ],
  exports: [PartitionProgress, ReadingPause, LogReader, LogArchive],
})
export class LogModule {}

function progressOf(
  { claim }: RegistryView,
  redis: Redis,
  shards: Shards,
  queueShards: Shards,
  config: WorkerConfig,
): PartitionProgress {
  const servers = shards.all.map(
    (shard, number) => new OneServer(shard.redis, (queueShards.all[number] ?? shard).redis),
  );
  const agreed = async (number: number): Promise<void> => {
    // Offsets of another cluster say nothing about this log.
    await claim.made();
    await servers[number]?.agreed();
  };
  const [only, ...others] = shards.all;
  return only !== undefined && others.length === 0
    ? new RedisPartitionProgress(only, config.DEDUPE_WINDOW, () => agreed(0))
    : new ShardedPartitionProgress(shards, redis, config.DEDUPE_WINDOW, agreed);
}
