import { Global, Injectable, Module, type DynamicModule } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import {
  AccessTokens,
  BearerGuard,
  Guesses,
  NetworkFailures,
  SourceGuard,
  type AccessRule,
  type Caller,
} from '@relay/access';
import {
  CallerFinder,
  CallerPlaces,
  createHttpApp,
  spentHeaders,
  type FastifyRequest,
  type ShellSettings,
} from '@relay/http';
import { ClientDirectory } from '@relay/identity';
import { ProblemError } from '@relay/problem';
import { Shards } from '@relay/redis';
import type { IngressConfig } from '@relay/settings';
import { ClientAuthenticator, OAuthErrorFilter } from '../oauth/client-authenticator.js';
import { isShown, notFound } from '../webhooks/webhook-problems.js';

/** Path of one envelope. Its requests are light: envelopes that arrive together are looked up, published and marked in batches. */
const LIGHT_PATH = '/deliveries';

/** Creates the HTTP application of a module that includes PlatformModule. It does not listen or wait for stores yet. */
export async function createIngressApp(
  module: DynamicModule,
  config: ShellSettings & Pick<IngressConfig, 'MAX_ENVELOPE_BYTES'>,
): Promise<NestFastifyApplication> {
  const app = await createHttpApp(module, config, LIGHT_PATH);
  app.useGlobalFilters(new OAuthErrorFilter());
  const callers = app.get(CallerFinder);
  const fastify = app.getHttpAdapter().getInstance();
  fastify.addHook('onRoute', (route) => {
    const { method, url, config: rules } = route;
    if (rules?.access === undefined) throw new Error(`${String(method)} ${url} does not say who may call it: @Access`);
    if (url === LIGHT_PATH) route.config = { ...rules, body: { ...rules.body, maxBytes: config.MAX_ENVELOPE_BYTES } };
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

/** Maps the rule of a route to the guard that enforces it. */
@Injectable()
class GuardCallerFinder extends CallerFinder {
  readonly #bearer: BearerGuard;
  readonly #source: SourceGuard;

  constructor(
    tokens: AccessTokens,
    directory: ClientDirectory,
    private readonly clients: ClientAuthenticator,
    shards: Shards,
  ) {
    super();
    const guesses = new NetworkGuesses(shards);
    this.#bearer = new BearerGuard(tokens, directory, guesses);
    this.#source = new SourceGuard(tokens, directory, guesses);
  }

  callerOf(rule: AccessRule, request: FastifyRequest): Promise<Caller> | Caller | undefined {
    switch (rule.kind) {
      case 'public':
        return undefined;
      case 'client':
        return this.clients.authenticate(request);
      case 'source':
        return this.#source.callerOf(request);
      case 'listing':
        // The token is optional, but it must be valid if it is sent.
        return request.headers.authorization === undefined ? undefined : this.#bearer.callerOf(request, rule.scopes);
      case 'bearer':
        return this.#bearerOf(rule.scopes, request);
      case 'operator':
        throw new Error('The ingress has no routes of operators');
      default:
        return rule satisfies never;
    }
  }

  /**
   * Admits a bearer token.
   * @throws ProblemError `not-found` if a portal token does not give access to the webhook in the URL, as if the webhook did
   * not exist
   */
  async #bearerOf(scopes: readonly string[], request: FastifyRequest): Promise<Caller> {
    const { url = '', config } = request.routeOptions;
    const caller = await this.#bearer.callerOf(request, scopes, config.portal);
    const { id } = request.params as { readonly id?: string };
    if (url.startsWith('/webhooks/:id') && !isShown(caller, id ?? '')) throw notFound();
    return caller;
  }
}

/** Counts failed tokens and fixed credentials by network, over all processes. */
class NetworkGuesses extends Guesses {
  readonly #failures: NetworkFailures;

  constructor({ global }: Shards) {
    super();
    this.#failures = new NetworkFailures(global, { name: 'credential-network', points: 100, windowMs: 60_000 });
  }

  isHeldBack(address: string): boolean {
    return this.#failures.isKnownBlocked(address);
  }

  async miss(address: string): Promise<ProblemError | undefined> {
    const spent = await this.#failures.fail(address);
    if (spent === undefined) return undefined;
    return new ProblemError('too-many-requests', 'Your network sent too many credentials that belong to nobody.', {
      headers: spentHeaders(spent.limit, spent.waitS),
    });
  }
}

/** Authenticates callers, before the HTTP shell reads a body. */
@Global()
@Module({
  providers: [ClientAuthenticator, { provide: CallerFinder, useClass: GuardCallerFinder }],
  exports: [CallerFinder, ClientAuthenticator],
})
export class AccessModule {}
