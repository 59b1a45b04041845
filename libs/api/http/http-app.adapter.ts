import type { Server } from 'node:http';
import { networkInterfaces } from 'node:os';
import type { DynamicModule } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { Log, nestLoggerOf, ThrottledLog } from '@relay/telemetry';
import { Registry, Gauge, Histogram } from 'prom-client';
import { BodyBudget } from './body-reader.js';
import type { FastifyReply, FastifyRequest } from './fastify-request.js';
import { fastifyShell, type ShellSettings } from './fastify-shell.adapter.js';
import { ProblemFilter } from './problem.filter.js';

/**
 * Creates the HTTP application for a module that provides Log, ThrottledLog, Redis and Registry. The application does not
 * listen yet, and checks no credentials.
 * @param lightPath path of light requests, which access the stores in batches
 */
export async function createHttpApp(
  module: DynamicModule,
  config: ShellSettings,
  lightPath?: string,
): Promise<NestFastifyApplication> {
  const budget = new BodyBudget(config.MAX_BUFFERED_BYTES);
  const { adapter, routes } = fastifyShell(
    config,
    budget,
    (thrown, request) => filter.answerTo(thrown, request),
    lightPath,
  );
  const app = await NestFactory.create<NestFastifyApplication>(module, adapter, {
    bodyParser: false,
    // If the start fails, the caller logs the reason in one line, and the lines that Nest has buffered until then are
    // dropped.
    bufferLogs: true,
    autoFlushLogs: false,
    abortOnError: false,
  });
  app.useLogger(nestLoggerOf(app.get(Log)));
  app.flushLogs();
  const registry = app.get<Registry>(Registry);
  const answered = registerRequestMetrics(registry);
  const fastify = adapter.getInstance();
  fastify.addHook('onResponse', (request, reply, done) => {
    answered(request, reply);
    done();
  });
  registerBufferMetrics(registry, budget, fastify.server);
  const throttled = app.get(ThrottledLog);
  fastify.server.on('drop', () =>
    throttled.warn('connections.full', 'A connection was ended for a new one, because MAX_CONNECTIONS are open', {
      connections: config.MAX_CONNECTIONS,
    }),
  );
  const settings = { publicUrl: config.PUBLIC_URL, routes };
  const filter = new ProblemFilter(settings, app.get(Log), throttled);
  app.useGlobalFilters(filter);
  return app;
}

function registerBufferMetrics(registry: Registry, budget: BodyBudget, server: Pick<Server, 'getConnections'>): void {
  const buffered = new Gauge({
    name: 'relay_http_buffered_bytes',
    help: 'Bytes of bodies that are being received or answered, and of answers over 4 KiB that are not sent yet.',
    registers: [],
    collect() {
      this.set(budget.used);
    },
  });
  const connections = new Gauge({
    name: 'relay_http_connections',
    help: 'Open connections of callers.',
    registers: [],
    collect() {
      return new Promise<void>((resolve) =>
        server.getConnections((_error, open) => {
          this.set(open);
          resolve();
        }),
      );
    },
  });
  for (const gauge of [buffered, connections]) registry.registerMetric(gauge);
}

/** Label for requests to unknown paths. The path itself must not become a label, because callers can choose any path. */
const NO_ROUTE = 'unknown';

/**
 * Registers the metric for the durations of requests, by route and status. Its name and buckets follow OpenTelemetry’s
 * semantic conventions for HTTP.
 * @returns function to call after each answered request
 */
function registerRequestMetrics(registry: Registry): (request: FastifyRequest, reply: FastifyReply) => void {
  const durations = new Histogram({
    name: 'http_server_request_duration_seconds',
    help: 'From a request’s head to the end of its answer, by route.',
    labelNames: ['http_request_method', 'http_route', 'http_response_status_code'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10],
    registers: [registry],
  });
  return ({ method, is404, routeOptions }, reply) => {
    const { statusCode, elapsedTime } = reply;
    // A stream is not measured, because it lasts for as long as its client stays connected.
    if (reply.getHeader('content-type') === 'text/event-stream') return;
    const labels = {
      http_request_method: method,
      http_route: is404 ? NO_ROUTE : (routeOptions.url ?? NO_ROUTE),
      http_response_status_code: statusCode,
    };
    durations.observe(labels, elapsedTime / 1_000);
  };
}

/** Returns the address with which a server listens on all addresses: `::` if the machine has IPv6, otherwise `0.0.0.0`. */
export function everyAddress(interfaces = networkInterfaces()): '::' | '0.0.0.0' {
  const hasIpv6 = Object.values(interfaces).some((addresses) => addresses?.some(({ family }) => family === 'IPv6'));
  return hasIpv6 ? '::' : '0.0.0.0';
}

/** Returns a warning if this TRUST_PROXY lets callers forge their address; otherwise undefined. */
export const proxyWarning = (trusted: boolean | number | string): string | undefined =>
  trusted === true
    ? 'TRUST_PROXY=true trusts the first address of X-Forwarded-For, which the caller writes: limits by network then limit nobody'
    : undefined;
