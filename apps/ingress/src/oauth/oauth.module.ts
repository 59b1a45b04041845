import { Module } from '@nestjs/common';
import { ClientDirectory, FailureLimiter } from '@relay/access';
import { Keyring } from '@relay/keyring';
import { Redis } from 'ioredis';
import { ClientAuthenticator } from './client-authenticator.js';
import { IssuedTokensController } from './issued-tokens.controller.js';
import { MetadataController } from './metadata.controller.js';
import { TokenController } from './token.controller.js';

const OF_CLIENT = { name: 'token', points: 10, windowMs: 60_000 };
const OF_NETWORK = { name: 'token-network', points: 100, windowMs: 60_000 };

@Module({
  controllers: [TokenController, IssuedTokensController, MetadataController],
  providers: [
    {
      provide: ClientAuthenticator,
      useFactory: (directory: ClientDirectory, keyring: Keyring, redis: Redis) =>
        new ClientAuthenticator(
          directory,
          keyring,
          new FailureLimiter(redis, OF_CLIENT),
          new FailureLimiter(redis, OF_NETWORK),
        ),
      inject: [ClientDirectory, Keyring, Redis],
    },
  ],
})
export class OAuthModule {}
