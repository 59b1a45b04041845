import { Controller, Delete, Get, HttpCode, Inject, Param, Post, Req, Res, UseInterceptors } from '@nestjs/common';
import { SessionStore, type Session } from '@relay/access';
import { ProblemError } from '@relay/problem';
import {
  Access,
  callerIdOf,
  IgnoresUnknown,
  RateLimitInterceptor,
  SharedQuota,
  StrictBody,
  type Body,
  type FastifyReply,
  type FastifyRequest,
} from '@relay/http';
import { INGRESS_CONFIG, type IngressConfig } from '@relay/settings';
import { Operation } from '@relay/openapi';
import { NoMembers, SessionId, UserId, type SessionAnswer, type SessionReference } from './session.js';
import { createSession, endSession, readSession } from './sessions.openapi.js';

@Controller('auth')
@Access({ kind: 'bearer', scopes: ['sessions'] })
@UseInterceptors(RateLimitInterceptor)
export class SessionsController {
  constructor(
    private readonly sessions: SessionStore,
    private readonly openings: SharedQuota,
    @Inject(INGRESS_CONFIG) private readonly config: IngressConfig,
  ) {}

  /** The body is optional, as at the token endpoint: none, or an object without meaning. */
  @Post(':userId/session')
  @IgnoresUnknown()
  @Operation(createSession)
  async create(
    @Param('userId') id: string,
    @StrictBody(NoMembers, 'optional') body: Body<NoMembers>,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<SessionReference> {
    const userId = UserId.safeParse(id);
    if (!userId.success) throw new ProblemError('invalid-request', 'The userId in the path is not a UUID.');
    body();
    const partnerId = callerIdOf(request);
    await this.openings.admit(partnerId, reply, 'You have opened too many sessions for now.');
    const opening = await this.sessions.open(partnerId, userId.data, this.config.SESSION_TTL);
    if (opening.kind === 'full')
      throw new ProblemError('too-many-requests', 'You have reached your session limit: end one, or wait.', {
        headers: { 'retry-after': String(opening.waitS) },
      });
    return { sessionId: opening.sessionId };
  }

  @Get('session/:sessionId')
  @Operation(readSession)
  async read(@Param('sessionId') sessionId: string, @Req() request: FastifyRequest): Promise<SessionAnswer> {
    const { userId, expiresAt } = await this.#find(sessionId, request);
    return { sessionId, userId, expiresAt: new Date(expiresAt).toISOString() };
  }

  @Delete('session/:sessionId')
  @IgnoresUnknown()
  @Operation(endSession)
  @HttpCode(204)
  async end(@Param('sessionId') sessionId: string, @Req() request: FastifyRequest): Promise<void> {
    const isOne = SessionId.safeParse(sessionId).success;
    if (!isOne || !(await this.sessions.end(callerIdOf(request), sessionId))) throw notFound();
  }

  /** A session of another partner is not found, like one that is unknown or expired. */
  async #find(sessionId: string, request: FastifyRequest): Promise<Session> {
    const isOne = SessionId.safeParse(sessionId).success;
    const session = isOne ? await this.sessions.find(callerIdOf(request), sessionId) : undefined;
    if (session === undefined) throw notFound();
    return session;
  }
}

const notFound = (): ProblemError => new ProblemError('not-found', 'You have no such session.');
