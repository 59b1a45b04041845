import { Inject, Module, type Provider } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyAdapter } from '@nestjs/platform-fastify';
import { RedisRepeatCounts, RedisSeenStore, RepeatCounter, SeenStore } from '@relay/dedupe';
import { Publisher } from '@relay/publishing';
import { Shards } from '@relay/redis';
import { ThrottledLog, Tracing } from '@relay/telemetry';
import { Registry } from 'prom-client';
import { INGRESS_CONFIG, type IngressConfig } from '@relay/settings';
import { Acceptance } from './acceptance.js';
import { DeliveriesController } from './deliveries.controller.js';
import { IngressMetrics } from './ingress-metrics.js';
import { RememberedIds } from './remembered-ids.js';
import { traceRequests } from './traced-requests.js';

const providers: Provider[] = [
  {
    provide: SeenStore,
    useFactory: (shards: Shards, config: IngressConfig) => new RedisSeenStore(shards, config.DEDUPE_WINDOW),
    inject: [Shards, INGRESS_CONFIG],
  },
  {
    provide: RememberedIds,
    useFactory: (store: SeenStore, log: ThrottledLog, shards: Shards, config: IngressConfig) =>
      new RememberedIds(store, log, new RepeatCounter(new RedisRepeatCounts(shards, config.DEDUPE_WINDOW))),
    inject: [SeenStore, ThrottledLog, Shards, INGRESS_CONFIG],
  },
  { provide: IngressMetrics, useFactory: (registry: Registry) => new IngressMetrics(registry), inject: [Registry] },
  {
    provide: Acceptance,
    useFactory: acceptanceOf,
    inject: [Publisher, RememberedIds, IngressMetrics, INGRESS_CONFIG],
  },
];

/** Accepts envelopes over HTTP and appends them to the log. */
@Module({ controllers: [DeliveriesController], providers })
export class DeliveriesModule {
  constructor(host: HttpAdapterHost<FastifyAdapter>, @Inject(Tracing) tracing: Tracing | undefined) {
    // Must run before the routes are registered: a route takes the hooks that exist then.
    if (tracing !== undefined) traceRequests(host.httpAdapter.getInstance(), tracing);
  }
}

function acceptanceOf(
  publisher: Publisher,
  remembered: RememberedIds,
  metrics: IngressMetrics,
  config: IngressConfig,
): Acceptance {
  const settings = { topicPrefix: config.KAFKA_TOPIC_PREFIX, ceSource: config.PUBLIC_URL };
  return new Acceptance(publisher, remembered, settings, Date.now, () => metrics.timePublish());
}
