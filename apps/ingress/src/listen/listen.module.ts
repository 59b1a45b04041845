import { Module } from '@nestjs/common';
import { LogFetcher } from '@relay/kafka';
import { Keyring } from '@relay/keyring';
import { INGRESS_CONFIG, type IngressConfig } from '@relay/settings';
import { ThrottledLog } from '@relay/telemetry';
import { Kafka } from 'kafkajs';
import { Registry } from 'prom-client';
import { ListenController } from './listen.controller.js';
import { ListenMetrics } from './listen-metrics.js';
import { ListenStreams } from './listen-streams.js';
import { StreamKeys } from './position.js';

@Module({
  controllers: [ListenController],
  providers: [
    { provide: StreamKeys, useFactory: (keyring: Keyring) => new StreamKeys(keyring), inject: [Keyring] },
    { provide: ListenMetrics, useFactory: (registry: Registry) => new ListenMetrics(registry), inject: [Registry] },
    {
      provide: ListenStreams,
      useFactory: (kafka: Kafka, keys: StreamKeys, config: IngressConfig, log: ThrottledLog, metrics: ListenMetrics) =>
        new ListenStreams(new LogFetcher(kafka), keys, config, log, metrics),
      inject: [Kafka, StreamKeys, INGRESS_CONFIG, ThrottledLog, ListenMetrics],
    },
  ],
})
export class ListenModule {}
