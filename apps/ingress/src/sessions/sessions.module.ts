import { randomBytes } from 'node:crypto';
import { Module } from '@nestjs/common';
import { RedisSessionStore, SessionStore } from '@relay/access';
import { Redis } from 'ioredis';
import { SharedQuota } from '@relay/http';
import { INGRESS_CONFIG, type IngressConfig } from '@relay/settings';
import { SessionsController } from './sessions.controller.js';

/** A further session of a user ends the one with the earliest expiry. */
const SESSIONS_OF_USER = 10;

@Module({
  controllers: [SessionsController],
  providers: [
    {
      provide: SessionStore,
      useFactory: (redis: Redis, { SESSIONS_PER_PARTNER: ofPartner }: IngressConfig) =>
        new RedisSessionStore(redis, { ofPartner, ofUser: SESSIONS_OF_USER }, randomBytes, Date.now),
      inject: [Redis, INGRESS_CONFIG],
    },
    {
      provide: SharedQuota,
      useFactory: (redis: Redis, { SESSION_RATE_LIMIT: points }: IngressConfig) =>
        new SharedQuota(redis, { name: 'sessions', points, windowMs: 60_000 }),
      inject: [Redis, INGRESS_CONFIG],
    },
  ],
})
export class SessionsModule {}
