import { Module } from '@nestjs/common';
import { ClientDirectory, FailureLimiter } from '@relay/access';
import { Keyring } from '@relay/keyring';
import { Redis } from 'ioredis';
import { ClientAuthenticator } from './client-authenticator.js';
import { MetadataController } from './metadata.controller.js';
import { TokenController } from './token.controller.js';

const FAILURES = { name: 'token', points: 10, windowMs: 60_000 };

@Module({
  controllers: [TokenController, MetadataController],
  providers: [
    {
      provide: ClientAuthenticator,
      useFactory: (directory: ClientDirectory, keyring: Keyring, redis: Redis) =>
        new ClientAuthenticator(directory, keyring, new FailureLimiter(redis, FAILURES)),
      inject: [ClientDirectory, Keyring, Redis],
    },
  ],
})
export class OAuthModule {}
