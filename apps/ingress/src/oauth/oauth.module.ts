import { Module } from '@nestjs/common';
import { FailureLimiter } from '@relay/access';
import { ClientDirectory } from '@relay/identity';
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
      useFactory: (directory: ClientDirectory, redis: Redis) =>
        new ClientAuthenticator(directory, new FailureLimiter(redis, OF_CLIENT), new FailureLimiter(redis, OF_NETWORK)),
      inject: [ClientDirectory, Redis],
    },
  ],
})
export class OAuthModule {}
