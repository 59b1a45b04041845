import { randomBytes } from 'node:crypto';
import { Controller, Delete, Get, HttpCode, Inject, Param, Post, Req, UseInterceptors } from '@nestjs/common';
import { SessionStore, type Session } from '@relay/access';
import { ProblemError } from '@relay/problem';
import { Access } from '../http/access.decorator.js';
import { callerIdOf, type FastifyRequest } from '../http/fastify-request.js';
import { RateLimitInterceptor } from '../http/rate-limit.interceptor.js';
import { Operation } from '../http/operation.decorator.js';
import { readJson, validate } from '../http/read-json.js';
import { INGRESS_CONFIG, type IngressConfig } from '../ingress.config.js';
import { NoMembers, SessionId, UserId, type SessionAnswer, type SessionReference } from './session.js';
import { createSession, endSession, readSession } from './sessions.operations.js';

@Controller('auth')
@Access({ kind: 'bearer', scopes: ['sessions'] })
@UseInterceptors(RateLimitInterceptor)
export class SessionsController {
  constructor(
    private readonly sessions: SessionStore,
    @Inject(INGRESS_CONFIG) private readonly config: IngressConfig,
  ) {}

  /** Body as for a token: none, with or without a content type, or an object without meaning. */
  @Post(':userId/session')
  @Operation(createSession)
  async create(@Param('userId') id: string, @Req() request: FastifyRequest): Promise<SessionReference> {
    const userId = UserId.safeParse(id);
    if (!userId.success) throw new ProblemError('invalid-request', 'The userId in the path is not a UUID.');
    if (request.rawBody !== undefined) validate(NoMembers, readJson(request.rawBody));
    const sessionId = randomBytes(32).toString('base64url');
    const ttlMs = this.config.SESSION_TTL;
    const session = { clientId: callerIdOf(request), userId: userId.data, expiresAt: Date.now() + ttlMs };
    await this.sessions.keep(sessionId, session, ttlMs);
    return { sessionId };
  }

  @Get('session/:sessionId')
  @Operation(readSession)
  async read(@Param('sessionId') sessionId: string, @Req() request: FastifyRequest): Promise<SessionAnswer> {
    const { userId, expiresAt } = await this.#find(sessionId, request);
    return { sessionId, userId, expiresAt: new Date(expiresAt).toISOString() };
  }

  @Delete('session/:sessionId')
  @Operation(endSession)
  @HttpCode(204)
  async end(@Param('sessionId') sessionId: string, @Req() request: FastifyRequest): Promise<void> {
    await this.#find(sessionId, request);
    // A session never changes hands, so nothing can come between the two; of two that end it, one is told 404.
    if (!(await this.sessions.end(sessionId))) throw notFound();
  }

  /** What another partner owns is not found, like what never was or has expired. */
  async #find(sessionId: string, request: FastifyRequest): Promise<Session> {
    const session = SessionId.safeParse(sessionId).success ? await this.sessions.find(sessionId) : undefined;
    if (session?.clientId !== callerIdOf(request)) throw notFound();
    return session;
  }
}

const notFound = (): ProblemError => new ProblemError('not-found', 'You have no such session.');
