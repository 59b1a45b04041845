import type { DynamicModule } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { CallerFinder, CallerPlaces, createHttpApp, type ShellSettings } from '@relay/http';
import { OAuthErrorFilter } from '../oauth/oauth-error.filter.js';

/** Path whose requests are light: envelopes that arrive together are looked up, published and marked in batches. */
const LIGHT_PATH = '/deliveries';

/** Creates the HTTP application of a module that includes PlatformModule. It does not listen or wait for stores yet. */
export async function createIngressApp(module: DynamicModule, config: ShellSettings): Promise<NestFastifyApplication> {
  const app = await createHttpApp(module, config, LIGHT_PATH);
  app.useGlobalFilters(new OAuthErrorFilter());
  const callers = app.get(CallerFinder);
  const fastify = app.getHttpAdapter().getInstance();
  fastify.addHook('onRoute', ({ method, url, config: rules }) => {
    if (rules?.access === undefined) throw new Error(`${String(method)} ${url} does not say who may call it: @Access`);
  });
  // This hook runs before the body is read.
  fastify.addHook('onRequest', async (request) => {
    const { access } = request.routeOptions.config;
    // Unknown paths have no rule.
    if (access !== undefined) request.caller = await callers.callerOf(access, request);
  });
  const places = new CallerPlaces();
  // The body is read by now, so a slow body delays no other request of its caller.
  fastify.addHook('preHandler', ({ caller, routeOptions: { url, config: rules } }, { raw }, done) => {
    if (caller === undefined || rules.waits === true) done();
    else places.take(caller.clientId, raw, done, url === LIGHT_PATH);
  });
  return app;
}
