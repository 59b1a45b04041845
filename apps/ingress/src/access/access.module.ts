import { Global, Module } from '@nestjs/common';
import {
  AccessTokens,
  BearerGuard,
  FailureLimiter,
  Guesses,
  NetworkFailures,
  SourceGuard,
  type AccessRule,
  type Caller,
} from '@relay/access';
import { CallerFinder, spentHeaders, type FastifyRequest } from '@relay/http';
import { ClientDirectory } from '@relay/identity';
import { ProblemError } from '@relay/problem';
import { Redis } from 'ioredis';
import { ClientAuthenticator } from '../oauth/client-authenticator.js';
import { isShown, notFound } from '../webhooks/webhook-problems.js';

/** Counts failed tokens and fixed credentials by network, over all processes. */
class NetworkGuesses extends Guesses {
  constructor(private readonly failures: NetworkFailures) {
    super();
  }

  isHeldBack(address: string): boolean {
    return this.failures.isKnownBlocked(address);
  }

  async miss(address: string): Promise<ProblemError | undefined> {
    const spent = await this.failures.fail(address);
    if (spent === undefined) return undefined;
    return new ProblemError('too-many-requests', 'Your network sent too many credentials that belong to nobody.', {
      headers: spentHeaders(spent.limit, spent.waitS),
    });
  }
}

/** Maps the rule of a route to the guard that enforces it. */
class GuardCallerFinder extends CallerFinder {
  constructor(
    private readonly bearer: BearerGuard,
    private readonly source: SourceGuard,
    private readonly clients: ClientAuthenticator,
  ) {
    super();
  }

  callerOf(rule: AccessRule, request: FastifyRequest): Promise<Caller> | Caller | undefined {
    switch (rule.kind) {
      case 'public':
        return undefined;
      case 'client':
        return this.clients.authenticate(request);
      case 'source':
        return this.source.callerOf(request);
      case 'listing':
        // The token is optional, but it must be valid if it is sent.
        return request.headers.authorization === undefined ? undefined : this.bearer.callerOf(request, rule.scopes);
      case 'bearer':
        return this.#bearerOf(rule.scopes, request);
      case 'operator':
        throw new Error('The ingress has no routes of operators');
      default:
        return rule satisfies never;
    }
  }

  /** Admits a token. A webhook that a portal token does not show is answered as if it did not exist. */
  async #bearerOf(scopes: readonly string[], request: FastifyRequest): Promise<Caller> {
    const { url = '', config } = request.routeOptions;
    const caller = await this.bearer.callerOf(request, scopes, config.portal);
    const { id } = request.params as { readonly id?: string };
    if (url.startsWith('/webhooks/:id') && !isShown(caller, id ?? '')) throw notFound();
    return caller;
  }
}

/** Authenticates callers, before the HTTP shell reads a body. */
@Global()
@Module({
  providers: [
    {
      provide: ClientAuthenticator,
      useFactory: (directory: ClientDirectory, redis: Redis) =>
        new ClientAuthenticator(
          directory,
          new FailureLimiter(redis, { name: 'token', points: 10, windowMs: 60_000 }),
          new NetworkFailures(redis, { name: 'token-network', points: 100, windowMs: 60_000 }),
        ),
      inject: [ClientDirectory, Redis],
    },
    {
      provide: CallerFinder,
      useFactory: (tokens: AccessTokens, directory: ClientDirectory, clients: ClientAuthenticator, redis: Redis) => {
        const guesses = new NetworkGuesses(
          new NetworkFailures(redis, { name: 'credential-network', points: 100, windowMs: 60_000 }),
        );
        const [bearer, source] = [
          new BearerGuard(tokens, directory, guesses),
          new SourceGuard(tokens, directory, guesses),
        ];
        return new GuardCallerFinder(bearer, source, clients);
      },
      inject: [AccessTokens, ClientDirectory, ClientAuthenticator, Redis],
    },
  ],
  exports: [CallerFinder, ClientAuthenticator],
})
export class AccessModule {}
