import { Module } from '@nestjs/common';
import { FailureLimiter } from '@relay/access';
import { ClientDirectory } from '@relay/identity';
import { Redis } from 'ioredis';
import { SharedQuota } from '../http/shared-quota.adapter.js';
import { INGRESS_CONFIG, type IngressConfig } from '../ingress.config.js';
import { ClientAuthenticator } from './client-authenticator.js';
import { ClientQuotas } from './client-quotas.js';
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
    {
      provide: ClientQuotas,
      useFactory: (redis: Redis, config: IngressConfig) => {
        const quota = (name: string, points: number): SharedQuota =>
          new SharedQuota(redis, { name, points, windowMs: 60_000 });
        return new ClientQuotas(
          quota('token', config.TOKEN_RATE_LIMIT),
          quota('revoke', config.TOKEN_RATE_LIMIT),
          quota('introspect', config.INTROSPECTION_RATE_LIMIT),
        );
      },
      inject: [Redis, INGRESS_CONFIG],
    },
  ],
})
export class OAuthModule {}
