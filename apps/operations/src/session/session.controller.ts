import { Controller, Delete, Get, HttpCode, Inject, Post, Req, Res } from '@nestjs/common';
import type { Caller } from '@relay/access';
import { RELAY_VERSION } from '@relay/config';
import { Access, type Body, callerOf, type FastifyReply, type FastifyRequest, StrictBody } from '@relay/http';
import { ClientDirectory, roleOf } from '@relay/identity';
import { Operation } from '@relay/openapi';
import { OPERATIONS_CONFIG, type OperationsConfig } from '@relay/settings';
import { Log } from '@relay/telemetry';
import { ConsoleSessions, IDLE_MS } from '../access/console-sessions.adapter.js';
import { assertShown, OperatorGuard } from '../access/operator-guard.js';
import { assertOwnPage, madeAt, shownIn } from '../access/own-origin.js';
import { noSession, readSession, sessionCookie } from '../access/session-cookie.js';
import { Login, type OperatorNow } from './session-answers.js';
import { enter, leave, readSessionText } from './session.openapi.js';

/** The session by which a browser is an operator. */
@Controller('session')
export class SessionController {
  constructor(
    private readonly guard: OperatorGuard,
    private readonly sessions: ConsoleSessions,
    private readonly directory: ClientDirectory,
    private readonly log: Log,
    @Inject(OPERATIONS_CONFIG) private readonly config: OperationsConfig,
  ) {}

  @Post()
  @HttpCode(200)
  @Access({ kind: 'public' })
  @Operation(enter)
  async enter(
    @StrictBody(Login) body: Body<Login>,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<OperatorNow> {
    const { clientId, clientSecret } = body();
    const { caller, id } = await this.guard.enter(clientId, clientSecret, request.ip);
    const former = readSession(request.headers.cookie);
    if (former !== undefined) await this.sessions.end(former);
    this.log.info('console.entered', 'An operator opened a session of the console', {
      operator: clientId,
      requestId: request.id,
    });
    void reply.header('set-cookie', sessionCookie(id, isOverTls(request)));
    return this.#shown(caller);
  }

  @Get()
  @Access({ kind: 'operator', role: 'viewer' })
  @Operation(readSessionText)
  read(@Req() request: FastifyRequest): Promise<OperatorNow> {
    return this.#shown(callerOf(request));
  }

  @Delete()
  @HttpCode(204)
  @Access({ kind: 'public' })
  @Operation(leave)
  async leave(@Req() request: FastifyRequest, @Res({ passthrough: true }) reply: FastifyReply): Promise<void> {
    const id = readSession(request.headers.cookie);
    if (id !== undefined) {
      assertOwnPage(madeAt(request));
      assertShown(id, shownIn(request));
      await this.sessions.end(id);
    }
    void reply.header('set-cookie', [...noSession]);
  }

  async #shown({ clientId, scopes }: Caller): Promise<OperatorNow> {
    const name = (await this.directory.find(clientId))?.name ?? '';
    const canWrite = this.config.OPERATIONS_WRITE !== false;
    const idleS = IDLE_MS / 1_000;
    return { clientId, name, role: roleOf(scopes) ?? 'viewer', canWrite, idleS, version: RELAY_VERSION };
  }
}

/** By what the browser says of its page: behind a proxy that ends TLS the request itself came without. */
const isOverTls = ({ headers: { origin }, protocol }: FastifyRequest): boolean =>
  origin === undefined ? protocol === 'https' : origin.startsWith('https:');
