import { Module } from '@nestjs/common';
import { LogFetcher } from '@relay/kafka';
import { Kafka } from 'kafkajs';
import { built } from '../built.js';
import { ListenMetrics } from './listen-metrics.js';
import { ListenStreams } from './listen-streams.js';
import { ListenController } from './listen.controller.js';
import { StreamKeys } from './position.js';

@Module({
  controllers: [ListenController],
  providers: [StreamKeys, ListenMetrics, ListenStreams, built(LogFetcher, Kafka)],
})
export class ListenModule {}
