import { Global, Module } from '@nestjs/common';
import { AccessTokens, BearerGuard, FailureLimiter, NetworkFailures, SourceGuard } from '@relay/access';
import { ClientDirectory } from '@relay/identity';
import { Redis } from 'ioredis';
import { CallerFinder } from '@relay/http';
import { ClientAuthenticator } from '../oauth/client-authenticator.js';
import { GuardCallerFinder } from './guard-caller-finder.js';
import { NetworkGuesses } from './network-guesses.js';

const OF_CLIENT = { name: 'token', points: 10, windowMs: 60_000 };
const OF_NETWORK = { name: 'token-network', points: 100, windowMs: 60_000 };
const GUESSES = { name: 'credential-network', points: 100, windowMs: 60_000 };

/** Authenticates callers; the HTTP shell asks it before it reads a body. */
@Global()
@Module({
  providers: [
    {
      provide: ClientAuthenticator,
      useFactory: (directory: ClientDirectory, redis: Redis) =>
        new ClientAuthenticator(
          directory,
          new FailureLimiter(redis, OF_CLIENT),
          new NetworkFailures(redis, OF_NETWORK),
        ),
      inject: [ClientDirectory, Redis],
    },
    {
      provide: CallerFinder,
      useFactory: (tokens: AccessTokens, directory: ClientDirectory, clients: ClientAuthenticator, redis: Redis) => {
        const guesses = new NetworkGuesses(new NetworkFailures(redis, GUESSES));
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
