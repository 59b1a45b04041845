import { Module } from '@nestjs/common';
import { RedisSessionStore, SessionStore } from '@relay/access';
import { Redis } from 'ioredis';
import { SessionsController } from './sessions.controller.js';

@Module({
  controllers: [SessionsController],
  providers: [{ provide: SessionStore, useFactory: (redis: Redis) => new RedisSessionStore(redis), inject: [Redis] }],
})
export class SessionsModule {}
