import { randomBytes } from 'node:crypto';
import { Module, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyAdapter } from '@nestjs/platform-fastify';
import { PortalLinks } from '@relay/access';
import { SharedQuota } from '@relay/http';
import { INGRESS_CONFIG, type IngressConfig } from '@relay/settings';
import { Redis } from 'ioredis';
import { PortalController, PortalPageController, PortalTokens } from './portal.controller.js';

/** Links that one partner may make in a minute, over all processes. */
const LINKS_A_MINUTE = 300;

@Module({
  controllers: [PortalController, PortalPageController],
  providers: [
    PortalTokens,
    {
      provide: PortalLinks,
      useFactory: (redis: Redis, { PORTAL_LINK_TTL }: IngressConfig) =>
        new PortalLinks(redis, randomBytes, PORTAL_LINK_TTL),
      inject: [Redis, INGRESS_CONFIG],
    },
    {
      provide: SharedQuota,
      useFactory: (redis: Redis) =>
        new SharedQuota(redis, { name: 'portal-links', points: LINKS_A_MINUTE, windowMs: 60_000 }),
      inject: [Redis],
    },
  ],
})
export class PortalModule implements OnModuleInit {
  constructor(private readonly host: HttpAdapterHost<FastifyAdapter>) {}

  // The router of Nest takes the slash off a path. What stands behind `#` follows a redirect by itself.
  onModuleInit(): void {
    this.host.httpAdapter.getInstance().route({
      method: 'GET',
      url: '/portal/',
      config: { access: { kind: 'public' } },
      handler: (_request, reply) => reply.redirect('../portal', 308),
    });
  }
}
