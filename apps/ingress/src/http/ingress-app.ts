import { NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { DynamicModule } from '@nestjs/common';
import { Log, nestLoggerOf, ThrottledLog } from '@relay/telemetry';
import { Redis } from 'ioredis';
import { Registry } from 'prom-client';
import { fastifyShell, type ShellSettings } from './fastify-shell.adapter.js';
import { ProblemFilter } from './problem.filter.js';
import { tellRequests } from './request-metrics.js';

/** The HTTP application over a module that includes PlatformModule; not yet listening, nothing waited for. */
export async function createIngressApp(module: DynamicModule, config: ShellSettings): Promise<NestFastifyApplication> {
  const { adapter, routes } = fastifyShell(config, (thrown, request) => filter.answerTo(thrown, request));
  const app = await NestFactory.create<NestFastifyApplication>(module, adapter, {
    bodyParser: false,
    bufferLogs: true,
    abortOnError: false,
  });
  app.useLogger(nestLoggerOf(app.get(Log)));
  const answered = tellRequests(app.get<Registry>(Registry));
  const fastify = adapter.getInstance();
  fastify.addHook('onResponse', (request, reply, done) => {
    answered(request, reply);
    done();
  });
  const redis = app.get(Redis);
  const settings = { publicUrl: config.PUBLIC_URL, routes, redisReady: () => redis.status === 'ready' };
  const filter = new ProblemFilter(settings, app.get(Log), app.get(ThrottledLog));
  app.useGlobalFilters(filter);
  return app;
}
