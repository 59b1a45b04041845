import { Module } from '@nestjs/common';
import { Redis } from 'ioredis';
import { SharedQuota } from '@relay/http';
import { INGRESS_CONFIG, type IngressConfig } from '@relay/settings';
import { ClientQuotas } from './client-authenticator.js';
import { MetadataController, TokenController } from './oauth.controller.js';

@Module({
  controllers: [TokenController, MetadataController],
  providers: [
    {
      provide: ClientQuotas,
      useFactory: (redis: Redis, config: IngressConfig) => {
        const quota = (name: string, points: number): SharedQuota =>
          new SharedQuota(redis, { name, points, windowMs: 60_000 });
        return new ClientQuotas({
          token: quota('token', config.TOKEN_RATE_LIMIT),
          revoke: quota('revoke', config.TOKEN_RATE_LIMIT),
          introspect: quota('introspect', config.INTROSPECTION_RATE_LIMIT),
        });
      },
      inject: [Redis, INGRESS_CONFIG],
    },
  ],
})
export class OAuthModule {}
