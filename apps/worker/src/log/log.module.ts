import { Module } from '@nestjs/common';
import { envelopeTopics, registryTopic } from '@relay/events';
import { countDeliveries } from '@relay/jobs';
import { readMemory } from '@relay/metrics';
import { PartitionProgress, RedisPartitionProgress } from '@relay/progress';
import { OneServer, oneShard, onlyShard } from '@relay/redis';
import { Redis } from 'ioredis';
import { DeliveryMetrics } from '../metrics/delivery-metrics.js';
import { MetricsModule } from '../metrics/metrics.module.js';
import { FATAL, QUEUE_REDIS, WORKER_CONFIG } from '../platform/tokens.js';
import type { WorkerConfig } from '@relay/settings';
import { ConsumerWatch } from './consumer-watch.js';
import { KAFKA_LOG_OPTIONS, KafkaLogStrategy, type KafkaLogOptions } from './kafka-log.strategy.js';
import { LogArchive } from './log-archive.adapter.js';
import { LogReader } from './log-reader.js';
import { LOG_READER_OPTIONS, type LogReaderOptions } from './log-reader-options.js';
import { READING_LOAD, ReadingPause } from './reading-pause.js';

/** Reads the log: which partitions are this worker's, from where, and whether reading pauses. */
@Module({
  imports: [MetricsModule],
  providers: [
    {
      provide: PartitionProgress,
      useFactory: (redis: Redis, queueRedis: Redis, config: WorkerConfig) => {
        const stores = new OneServer(redis, queueRedis);
        return new RedisPartitionProgress(onlyShard(redis), config.DEDUPE_WINDOW, () => stores.agreed());
      },
      inject: [Redis, QUEUE_REDIS, WORKER_CONFIG],
    },
    {
      provide: READING_LOAD,
      useFactory: (redis: Redis) => async () => ({
        memory: await readMemory(redis),
        queued: await countDeliveries(oneShard(redis)),
      }),
      inject: [Redis],
    },
    {
      provide: LOG_READER_OPTIONS,
      useFactory: (config: WorkerConfig, metrics: DeliveryMetrics): LogReaderOptions => ({
        groupId: config.KAFKA_CONSUMER_GROUP,
        flushEveryMs: 20,
        commitEveryMs: 2_500,
        compareEveryMs: 3_000,
        expired: (records) => metrics.expired(records),
      }),
      inject: [WORKER_CONFIG, DeliveryMetrics],
    },
    {
      provide: KAFKA_LOG_OPTIONS,
      useFactory: (config: WorkerConfig, fatal: (reason: string) => void): KafkaLogOptions => ({
        groupId: config.KAFKA_CONSUMER_GROUP,
        deployment: registryTopic(config.KAFKA_TOPIC_PREFIX),
        topics: envelopeTopics(config.KAFKA_TOPIC_PREFIX),
        onDead: fatal,
      }),
      inject: [WORKER_CONFIG, FATAL],
    },
    ReadingPause,
    LogReader,
    LogArchive,
    KafkaLogStrategy,
    ConsumerWatch,
  ],
  exports: [PartitionProgress, ReadingPause, LogReader, LogArchive],
})
export class LogModule {}
