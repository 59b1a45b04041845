import { Delete, Get, HttpCode, Inject, Module, Param, Post, Req } from '@nestjs/common';
import { SessionStore, type Session } from '@relay/access';
import { callerIdOf, IgnoresUnknown, SharedQuota, StrictBody, type Body, type FastifyRequest } from '@relay/http';
import { Operation, operationsOf } from '@relay/openapi';
import { ProblemError } from '@relay/problem';
import { Shards } from '@relay/redis';
import { INGRESS_CONFIG, type IngressConfig } from '@relay/settings';
import { z } from 'zod';
import { Exchange, PartnerRoutes } from '../access/partner-routes.js';

/** The optional body of a new session. The relay defines no members for it. */
const NoMembers = z.object({}).meta({ description: 'No member has a meaning.' });
type NoMembers = z.infer<typeof NoMembers>;

const UserId = z.guid().toLowerCase().describe('Identifier of the user, in either letter case.');

const SessionId = z
  .string()
  .regex(/^[\w-]{43}$/)
  .describe('Opaque; 128 random bits. Whoever has it and a token of yours can read and end the session.');

const SessionReference = z
  .object({ sessionId: SessionId })
  .meta({ id: 'SessionReference', description: 'A new session of the user named in the path.' });
type SessionReference = z.infer<typeof SessionReference>;

const SessionAnswer = z
  .object({
    sessionId: SessionId,
    userId: z.guid().describe('The user, in lower case.'),
    expiresAt: z.iso.datetime().describe('When the session ends by itself.'),
  })
  .meta({ id: 'Session', description: 'A session that has not ended.' });
type SessionAnswer = z.infer<typeof SessionAnswer>;

const aUser = { schema: UserId, example: '9d8c7b6a-5f4e-4d3c-8b2a-190817263544' };
const aSession = { schema: SessionId, example: 'Zk3mQ0Yt1a6rXc9uE4wPj2bVh8sLd7fNgTqKoM5iRyA' };

const operations = operationsOf('Sessions', {
  createSession: {
    summary: 'Start a session for a user',
    description:
      'A session ends by itself after `SESSION_TTL`, one hour unless the operator says otherwise. A user has at most ten: a further one ends the session with the earliest expiry. You have at most `SESSIONS_PER_PARTNER` (100,000) and open at most `SESSION_RATE_LIMIT` (6,000) a minute; beyond either the answer is 429.',
    path: { userId: aUser },
    body: { isRequired: false, schema: NoMembers, example: {} },
    answer: {
      description: 'The session.',
      content: { schema: SessionReference, example: { sessionId: aSession.example } },
    },
  },
  readSession: {
    summary: 'Read a session',
    path: { sessionId: aSession },
    answer: {
      description: 'The session.',
      content: {
        schema: SessionAnswer,
        example: { sessionId: aSession.example, userId: aUser.example, expiresAt: '2030-01-01T10:00:00.000Z' },
      },
    },
    problems: ['not-found'],
  },
  endSession: {
    summary: 'End a session',
    path: { sessionId: aSession },
    answer: { description: 'It has ended.' },
    problems: ['not-found'],
  },
});

@PartnerRoutes('auth', 'sessions')
class SessionsController {
  readonly #openings: SharedQuota;

  constructor(
    private readonly sessions: SessionStore,
    { global }: Shards,
    @Inject(INGRESS_CONFIG) private readonly config: IngressConfig,
  ) {
    this.#openings = new SharedQuota(global, { name: 'sessions', points: config.SESSION_RATE_LIMIT, windowMs: 60_000 });
  }

  /** Opens a session. The body is optional, as it is at the token endpoint, and its members are ignored. */
  @Post(':userId/session')
  @IgnoresUnknown()
  @Operation(operations.createSession)
  async create(
    @Param('userId') id: string,
    @StrictBody(NoMembers, 'optional') body: Body<NoMembers>,
    @Exchange() { request, reply }: Exchange,
  ): Promise<SessionReference> {
    const userId = UserId.safeParse(id);
    if (!userId.success) throw new ProblemError('invalid-request', 'The userId in the path is not a UUID.');
    body();
    const partnerId = callerIdOf(request);
    await this.#openings.admit(partnerId, reply, 'You have opened too many sessions for now.');
    const opening = await this.sessions.open(partnerId, userId.data, this.config.SESSION_TTL);
    if (opening.kind === 'full')
      throw new ProblemError('too-many-requests', 'You have reached your session limit: end one, or wait.', {
        headers: { 'retry-after': String(opening.waitS) },
      });
    return { sessionId: opening.sessionId };
  }

  @Get('session/:sessionId')
  @Operation(operations.readSession)
  async read(@Param('sessionId') sessionId: string, @Req() request: FastifyRequest): Promise<SessionAnswer> {
    const { userId, expiresAt } = await this.#find(sessionId, request);
    return { sessionId, userId, expiresAt: new Date(expiresAt).toISOString() };
  }

  @Delete('session/:sessionId')
  @IgnoresUnknown()
  @Operation(operations.endSession)
  @HttpCode(204)
  async end(@Param('sessionId') sessionId: string, @Req() request: FastifyRequest): Promise<void> {
    const isOne = SessionId.safeParse(sessionId).success;
    if (!isOne || !(await this.sessions.end(callerIdOf(request), sessionId))) throw notFound();
  }

  /** Finds a session of the partner. A session of another partner is answered like an unknown or expired one. */
  async #find(sessionId: string, request: FastifyRequest): Promise<Session> {
    const isOne = SessionId.safeParse(sessionId).success;
    const session = isOne ? await this.sessions.find(callerIdOf(request), sessionId) : undefined;
    if (session === undefined) throw notFound();
    return session;
  }
}

const notFound = (): ProblemError => new ProblemError('not-found', 'You have no such session.');

@Module({ controllers: [SessionsController] })
export class SessionsModule {}
