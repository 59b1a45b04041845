import { randomBytes } from 'node:crypto';
import { Controller, Inject, Param, Post, Req, UseGuards } from '@nestjs/common';
import { BearerGuard, Scopes, SessionStore } from '@relay/access';
import { ProblemError } from '@relay/problem';
import { z } from 'zod';
import type { FastifyRequest } from '../http/fastify-request.js';
import { readJson, validate } from '../http/read-json.js';
import { INGRESS_CONFIG, type IngressConfig } from '../ingress.config.js';

const NoMembers = z.object({});
const UserId = z.guid().toLowerCase();

@Controller('auth')
@UseGuards(BearerGuard)
@Scopes('sessions')
export class SessionsController {
  constructor(
    private readonly sessions: SessionStore,
    @Inject(INGRESS_CONFIG) private readonly config: IngressConfig,
  ) {}

  /** Body as for a token: none, with or without a content type, or an object without meaning. */
  @Post(':userId/session')
  async create(@Param('userId') id: string, @Req() request: FastifyRequest): Promise<{ sessionId: string }> {
    const userId = UserId.safeParse(id);
    if (!userId.success) throw new ProblemError('invalid-request', 'The userId in the path is not a UUID.');
    if (request.rawBody !== undefined) validate(NoMembers, readJson(request.rawBody));
    const { caller } = request;
    if (caller === undefined) throw new Error('BearerGuard did not run');
    const sessionId = randomBytes(32).toString('base64url');
    const ttlMs = this.config.SESSION_TTL;
    const session = { clientId: caller.clientId, userId: userId.data, expiresAt: Date.now() + ttlMs };
    await this.sessions.keep(sessionId, session, ttlMs);
    return { sessionId };
  }
}
