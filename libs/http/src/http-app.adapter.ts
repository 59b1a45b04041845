import type { DynamicModule } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { Log, nestLoggerOf, ThrottledLog } from '@relay/telemetry';
import { Registry } from 'prom-client';
import { BodyBudget } from './body-budget.js';
import { fastifyShell, type ShellSettings } from './fastify-shell.adapter.js';
import { ProblemFilter } from './problem.filter.js';
import { registerRequestMetrics } from './request-metrics.js';
import { registerBufferMetrics } from './buffer-metrics.js';

/**
 * The HTTP application over a module with Log, ThrottledLog, Redis and Registry. It does not listen yet, and checks no
 * credentials.
 * @param lightPath path of the requests that the stores take together
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
    // What keeps it from starting is told by its caller in one line, without what Nest has said until then.
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
