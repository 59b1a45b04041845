import { Inject, Module } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyAdapter } from '@nestjs/platform-fastify';
import { RedisRepeatCounts, RedisSeenStore, RepeatCounter, SeenStore } from '@relay/dedupe';
import { isTraceparent } from '@relay/events';
import { Publisher } from '@relay/publishing';
import { Shards } from '@relay/redis';
import { INGRESS_CONFIG, type IngressConfig } from '@relay/settings';
import { ThrottledLog, Tracing } from '@relay/telemetry';
import type { FastifyInstance } from 'fastify';
import { Acceptance } from './acceptance.js';
import { DeliveriesController, IngressMetrics } from './deliveries.controller.js';
import { RememberedIds } from './remembered-ids.js';

const BRING_ENVELOPES = new Set(['/deliveries', '/deliveries/batch']);

/** Opens a span for each request with envelopes. Its records and log lines belong to the span. */
function traceRequests(fastify: FastifyInstance, tracing: Tracing): void {
  fastify.addHook('onRequest', (request, reply, done) => {
    const route = request.routeOptions.url ?? '';
    if (request.method !== 'POST' || !BRING_ENVELOPES.has(route)) return done();
    const { traceparent } = request.headers;
    const parent = typeof traceparent === 'string' && isTraceparent(traceparent) ? traceparent : undefined;
    const span = tracing.start(`POST ${route}`, 'server', parent, {
      'http.request.method': 'POST',
      'http.route': route,
    });
    request.raw.headers['traceparent'] = span.traceparent;
    reply.raw.once('close', () => {
      const { statusCode: status, writableFinished: isAnswered } = reply.raw;
      if (isAnswered) span.end({ 'http.response.status_code': status }, status >= 500 ? String(status) : undefined);
      else span.end({}, 'aborted');
    });
    return done();
  });
}

const providers = [
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
  IngressMetrics,
  {
    provide: Acceptance,
    useFactory: (publisher: Publisher, ids: RememberedIds, metrics: IngressMetrics, config: IngressConfig) => {
      const settings = { topicPrefix: config.KAFKA_TOPIC_PREFIX, ceSource: config.PUBLIC_URL };
      return new Acceptance(publisher, ids, settings, Date.now, () => metrics.timePublish());
    },
    inject: [Publisher, RememberedIds, IngressMetrics, INGRESS_CONFIG],
  },
];

/** Accepts envelopes over HTTP and appends them to the log. */
@Module({ controllers: [DeliveriesController], providers })
export class DeliveriesModule {
  constructor(host: HttpAdapterHost<FastifyAdapter>, @Inject(Tracing) tracing: Tracing | undefined) {
    // Must run before the routes are registered, because a route gets only the hooks that exist by then.
    if (tracing !== undefined) traceRequests(host.httpAdapter.getInstance(), tracing);
  }
}
