import { Module } from '@nestjs/common';
import { LogFetcher } from '@relay/kafka';
import { Keyring } from '@relay/keyring';
import { INGRESS_CONFIG, type IngressConfig } from '@relay/settings';
import { ThrottledLog } from '@relay/telemetry';
import { Kafka } from 'kafkajs';
import { ListenController } from './listen.controller.js';
import { ListenStreams } from './listen-streams.js';
import { StreamKeys } from './stream-keys.js';

@Module({
  controllers: [ListenController],
  providers: [
    { provide: StreamKeys, useFactory: (keyring: Keyring) => new StreamKeys(keyring), inject: [Keyring] },
    {
      provide: ListenStreams,
      useFactory: (kafka: Kafka, keys: StreamKeys, config: IngressConfig, log: ThrottledLog) =>
        new ListenStreams(new LogFetcher(kafka), keys, config, log),
      inject: [Kafka, StreamKeys, INGRESS_CONFIG, ThrottledLog],
    },
  ],
})
export class ListenModule {}
