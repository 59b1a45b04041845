import type { DynamicModule } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { Admission, createHttpApp, type ShellSettings } from '@relay/http';
import { OAuthErrorFilter } from '../oauth/oauth-error.filter.js';

/** The HTTP application over a module that includes PlatformModule; not yet listening, nothing waited for. */
export async function createIngressApp(module: DynamicModule, config: ShellSettings): Promise<NestFastifyApplication> {
  const app = await createHttpApp(module, config);
  app.useGlobalFilters(new OAuthErrorFilter());
  const admission = app.get(Admission);
  const fastify = app.getHttpAdapter().getInstance();
  fastify.addHook('onRoute', ({ method, url, config: rules }) => {
    if (rules?.access === undefined) throw new Error(`${String(method)} ${url} does not say who may call it: @Access`);
  });
  // Nothing of the body is read before.
  fastify.addHook('onRequest', async (request) => {
    const { access } = request.routeOptions.config;
    // There is none where there is no such path.
    if (access !== undefined) request.caller = await admission.callerOf(access, request);
  });
  return app;
}
