import { Module } from '@nestjs/common';
import { fairLimits } from '@relay/admission';
import { RedisBreakerStore, RedisOriginProofs } from '@relay/breaker';
import { RELAY_VERSION } from '@relay/config';
import { HttpSender, Sender, TracedSender } from '@relay/delivery';
import { guardedConnector } from '@relay/egress';
import { DEFAULT_HORIZON_MS, parseSchedule } from '@relay/retry';
import { ThrottledLog, Tracing } from '@relay/telemetry';
import { Redis } from 'ioredis';
import { MetricsModule } from '../metrics/metrics.module.js';
import { WORKER_CONFIG } from '../platform/tokens.js';
import { QueueModule } from '../queue/queue.module.js';
import { RegistryModule } from '../registry/registry.module.js';
import { ReportingModule } from '../reporting/reporting.module.js';
import { WebhookHealthModule } from '../webhook-health/webhook-health.module.js';
import { longestAttemptMs, policyOf, type WorkerConfig } from '@relay/settings';
import { AttemptLog, AttemptReports, EndpointReports } from './attempt-reports.js';
import {
  ATTEMPT_SETTINGS,
  Attempts,
  type AttemptSettings,
  GoodAnswers,
  StraightAttempts,
  UnopenedWebhooks,
} from './attempts.js';
import { Breakers } from './breakers.js';
import { AttemptRule, DeliveryDispatcher, DISPATCH_BOUNDS, type DispatchBounds } from './delivery-dispatcher.js';
import { EndpointGauge } from './endpoint-gauge.js';
import { AttemptSlots, LoopLoad, SLOT_LIMITS } from './attempt-slots.js';
import { UnprovenOrigins } from './unproven-origins.js';

/** Delivery attempts: the HTTP client, the limits for each endpoint, and first attempts directly from the log. */
@Module({
  imports: [MetricsModule, QueueModule, RegistryModule, ReportingModule, WebhookHealthModule],
  providers: [
    { provide: Sender, useFactory: senderOf, inject: [WORKER_CONFIG, Tracing] },
    {
      provide: ATTEMPT_SETTINGS,
      useFactory: (config: WorkerConfig): AttemptSettings => ({
        policy: { schedule: parseSchedule(config.RETRY_SCHEDULE), horizonMs: DEFAULT_HORIZON_MS },
        version: RELAY_VERSION,
      }),
      inject: [WORKER_CONFIG],
    },
    {
      provide: SLOT_LIMITS,
      useFactory: (config: WorkerConfig) => fairLimits(config.DELIVERY_CONCURRENCY, config.ENDPOINT_CONCURRENCY),
      inject: [WORKER_CONFIG],
    },
    {
      provide: DISPATCH_BOUNDS,
      useFactory: (config: WorkerConfig): DispatchBounds => ({
        load: config.DELIVERY_CONCURRENCY * 3,
        waiting: config.ENDPOINT_CONCURRENCY * 4,
      }),
      inject: [WORKER_CONFIG],
    },
    {
      provide: Breakers,
      useFactory: (redis: Redis, log: ThrottledLog, config: WorkerConfig) =>
        new Breakers(new RedisBreakerStore(redis), log, longestAttemptMs(config)),
      inject: [Redis, ThrottledLog, WORKER_CONFIG],
    },
    RedisOriginProofs,
    UnopenedWebhooks,
    UnprovenOrigins,
    AttemptSlots,
    LoopLoad,
    EndpointReports,
    EndpointGauge,
    AttemptRule,
    AttemptLog,
    AttemptReports,
    GoodAnswers,
    Attempts,
    StraightAttempts,
    DeliveryDispatcher,
  ],
  exports: [
    ATTEMPT_SETTINGS,
    AttemptLog,
    AttemptReports,
    Attempts,
    Breakers,
    DeliveryDispatcher,
    EndpointReports,
    AttemptSlots,
    UnopenedWebhooks,
    UnprovenOrigins,
  ],
})
export class DeliveryModule {}

function senderOf(config: WorkerConfig, tracing: Tracing | undefined): Sender {
  const sender = new HttpSender(guardedConnector(policyOf(config), { proxyUrl: config.EGRESS_PROXY_URL }), {
    timeoutMs: config.DELIVERY_TIMEOUT,
    // The connection pool needs no limit for each endpoint, because the slots limit the attempts.
    connectionsPerOrigin: config.DELIVERY_CONCURRENCY,
    keepsAnswers: config.KEEP_ENDPOINT_ANSWERS,
  });
  return tracing === undefined ? sender : new TracedSender(sender, tracing);
}
