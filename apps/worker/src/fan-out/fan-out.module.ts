import { Module } from '@nestjs/common';
import { RedisRepeatCounts, RepeatCounter } from '@relay/dedupe';
import { type ClientCommand, ClientStore } from '@relay/identity';
import { Shards } from '@relay/redis';
import { RegistryView } from '@relay/registry';
import type { WorkerConfig } from '@relay/settings';
import { Redis } from 'ioredis';
import { DeliveryModule } from '../delivery/delivery.module.js';
import { LogModule } from '../log/log.module.js';
import { MetricsModule } from '../metrics/metrics.module.js';
import { ParkingModule } from '../parking/parking.module.js';
import { WORKER_CONFIG } from '../platform/tokens.js';
import { QueueModule } from '../queue/queue.module.js';
import { RegistryModule } from '../registry/registry.module.js';
import { EnvelopeLookup, FanOutConsumer, Recipients, Registrations } from './fan-out.consumer.js';
import { SkippedRecords } from './skipped-records.js';
import { RunningEnvelopes } from './running-envelopes.js';

/** Turns the records of the log into deliveries. */
@Module({
  imports: [DeliveryModule, LogModule, MetricsModule, ParkingModule, QueueModule, RegistryModule],
  controllers: [FanOutConsumer],
  providers: [
    EnvelopeLookup,
    Recipients,
    {
      provide: RepeatCounter,
      useFactory: (shards: Shards, config: WorkerConfig) =>
        new RepeatCounter(new RedisRepeatCounts(shards, config.DEDUPE_WINDOW)),
      inject: [Shards, WORKER_CONFIG],
    },
    {
      provide: ClientStore,
      useFactory: (redis: Redis, registry: RegistryView) =>
        new ClientStore(redis, registry.of<ClientCommand>('client')),
      inject: [Redis, RegistryView],
    },
    Registrations,
    SkippedRecords,
    RunningEnvelopes,
  ],
})
export class FanOutModule {}
