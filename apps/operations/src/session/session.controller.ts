import { Controller, Delete, Get, HttpCode, Inject, Param, Post, Req, Res } from '@nestjs/common';
import type { Caller } from '@relay/access';
import { Audit } from '@relay/audit';
import { RELAY_VERSION } from '@relay/config';
import {
  Access,
  type Body,
  callerOf,
  type FastifyReply,
  type FastifyRequest,
  StrictBody,
  TakesBody,
} from '@relay/http';
import { ClientDirectory, OPERATOR_ROLES, roleOf } from '@relay/identity';
import { Page, type Served } from '@relay/pages';
import { ProblemError } from '@relay/problem';
import { OPERATIONS_CONFIG, type OperationsConfig } from '@relay/settings';
import { Log } from '@relay/telemetry';
import { z } from 'zod';
import {
  ConsoleSessions,
  IDLE_MS,
  LINK_MS,
  noSession,
  readSession,
  sessionCookie,
} from '../access/console-sessions.adapter.js';
import { assertOwnPage, assertShown, OperatorGuard } from '../access/operator-guard.js';
import { answerOf, textsOf } from '../http/routes.js';

const Login = z
  .strictObject({
    clientId: z.string().min(1).max(100).describe('Of an operator.'),
    clientSecret: z.string().min(1).max(200),
  })
  .meta({ id: 'Login', description: 'Client id and client secret of an operator.' });
type Login = z.infer<typeof Login>;

const LinkCode = z
  .strictObject({ code: z.string().max(100).describe('What stands behind `#code=` in a link.') })
  .meta({ id: 'ConsoleLinkCode', description: 'The code of a link to the console.' });
type LinkCode = z.infer<typeof LinkCode>;

const ConsoleLink = z
  .object({
    code: z.string().describe('Stands behind `#code=` in the address of the console, and opens one session.'),
    expiresAt: z.iso.datetime().describe('Until when it can be opened.'),
  })
  .meta({ id: 'ConsoleLink', description: 'A link to the console.' });
type ConsoleLink = z.infer<typeof ConsoleLink>;

const OperatorNow = z
  .object({
    clientId: z.string(),
    name: z.string(),
    role: z.enum(OPERATOR_ROLES),
    canWrite: z.boolean().describe('`false` where `OPERATIONS_WRITE` is: nobody changes anything here.'),
    idleS: z.int().describe('A session ends after so many seconds in which nobody does anything.'),
    version: z.string().describe('Of the relay.'),
  })
  .meta({ id: 'OperatorNow', description: 'Who asks, and what it may do.' });
type OperatorNow = z.infer<typeof OperatorNow>;

const IN_DEVELOPMENT = 'Only where `CONSOLE_LINKS` is `true`, which is for development; elsewhere the answer is 404.';
const CODE = 'q1f9YQ3m0Vt7rXc2uE5wPj8bVh6sLd4fNgTzKoM1iRy';

/** @throws ProblemError `not-found` if this relay makes no links to the console */
function assertLinks({ CONSOLE_LINKS }: OperationsConfig): void {
  if (!CONSOLE_LINKS)
    throw new ProblemError('not-found', 'This relay makes no links to the console: CONSOLE_LINKS is not true.');
}

const Text = textsOf('Session');
const answer = answerOf('Who asks.', OperatorNow);

/** Opens, reads and ends the session with which a browser acts as an operator. */
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
  @Text('enterConsole', 'Open a session of the console', {
    description:
      'The answer sets a cookie that only this site sends and no script reads: `__Host-relay_console` with `Secure` where the page, by its `Origin`, came by HTTPS, else `relay_console`. The session ends after 30 minutes in which nobody does anything, after 12 hours, by `DELETE /session`, and with the secret that opened it. An operator has 10 sessions at most: an eleventh ends the one that was used least recently.',
    body: { isRequired: true, schema: Login, example: { clientId: 'operator_0Zt1', clientSecret: 'relay_sk_…' } },
    answer: { ...answer, headers: { 'Set-Cookie': 'The session.' } },
    problems: ['unauthorized', 'insufficient-scope', 'too-many-requests', 'unavailable'],
  })
  async enter(
    @StrictBody(Login) body: Body<Login>,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<OperatorNow> {
    const { clientId, clientSecret } = body();
    return this.#entered(await this.guard.enter(clientId, clientSecret, request.ip), request, reply);
  }

  @Post('code')
  @HttpCode(200)
  @Access({ kind: 'public' })
  @TakesBody({ maxBytes: 1_024 })
  @Text('followConsoleLink', 'Open a session of the console with the code of a link', {
    description: `As \`POST /session\`, for the operator who made the link. ${IN_DEVELOPMENT}`,
    body: { isRequired: true, schema: LinkCode, example: { code: CODE } },
    answer: { ...answer, headers: { 'Set-Cookie': 'The session.' } },
    problems: ['not-found', 'insufficient-scope', 'unavailable'],
  })
  async follow(
    @StrictBody(LinkCode) body: Body<LinkCode>,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<OperatorNow> {
    const { code } = body();
    assertLinks(this.config);
    return this.#entered(await this.guard.follow(code), request, reply);
  }

  @Get()
  @Access({ kind: 'operator', role: 'viewer' })
  @Text('readSession', 'Read who asks', { answer })
  read(@Req() request: FastifyRequest): Promise<OperatorNow> {
    return this.#shown(callerOf(request));
  }

  @Delete()
  @HttpCode(204)
  @Access({ kind: 'public' })
  @Text('leaveConsole', 'End the session of the console', {
    description:
      'The one of the cookie, from a page of this site alone, as every change by a session; without a cookie nothing is done.',
    answer: { description: 'It has ended.', headers: { 'Set-Cookie': 'None any more.' } },
    problems: ['insufficient-scope', 'unavailable'],
  })
  async leave(@Req() request: FastifyRequest, @Res({ passthrough: true }) reply: FastifyReply): Promise<void> {
    const id = readSession(request.headers.cookie);
    if (id !== undefined) {
      assertOwnPage(request);
      assertShown(id, request);
      await this.sessions.end(id);
    }
    void reply.header('set-cookie', [...noSession]);
  }

  /** Ends the former session of the browser, and sets the cookie of the new one. */
  async #entered(
    { caller, id }: Awaited<ReturnType<OperatorGuard['enter']>>,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<OperatorNow> {
    const former = readSession(request.headers.cookie);
    if (former !== undefined) await this.sessions.end(former);
    const by = { operator: caller.clientId, requestId: request.id };
    this.log.info('console.entered', 'An operator opened a session of the console', by);
    void reply.header('set-cookie', sessionCookie(id, isOverTls(request)));
    return this.#shown(caller);
  }

  async #shown({ clientId, scopes }: Caller): Promise<OperatorNow> {
    const name = (await this.directory.find(clientId))?.name ?? '';
    const canWrite = this.config.OPERATIONS_WRITE !== false;
    const idleS = IDLE_MS / 1_000;
    return { clientId, name, role: roleOf(scopes) ?? 'viewer', canWrite, idleS, version: RELAY_VERSION };
  }
}

/** Makes links by which a browser signs in to the console, in development. */
@Controller('session')
export class ConsoleLinksController {
  constructor(
    private readonly guard: OperatorGuard,
    private readonly sessions: ConsoleSessions,
    private readonly audit: Audit,
    @Inject(OPERATIONS_CONFIG) private readonly config: OperationsConfig,
  ) {}

  // It takes the secret itself: a token may have less than the role of its operator, and a session ends.
  @Post('links')
  @Access({ kind: 'public' })
  @TakesBody({ maxBytes: 1_024 })
  @Text('createConsoleLink', 'Make a link that signs in to the console', {
    description: `It opens one session of this operator, within ten minutes and until the secret ends. ${IN_DEVELOPMENT} \`relay.operations\` names the operator who made it.`,
    body: { isRequired: true, schema: Login, example: { clientId: 'operator_0Zt1', clientSecret: 'relay_sk_…' } },
    answer: answerOf('The link.', ConsoleLink, { code: CODE, expiresAt: '2030-01-01T10:10:00.000Z' }),
    problems: ['not-found', 'unauthorized', 'insufficient-scope', 'too-many-requests', 'unavailable'],
  })
  async create(@StrictBody(Login) body: Body<Login>, @Req() request: FastifyRequest): Promise<ConsoleLink> {
    const { clientId, clientSecret } = body();
    assertLinks(this.config);
    const { provenGeneration: generation } = await this.guard.prove(clientId, clientSecret, request.ip);
    await this.audit.report({ event: 'console.linked', operator: clientId, requestId: request.id });
    const expiresAt = new Date(Date.now() + LINK_MS).toISOString();
    return { code: await this.sessions.links.create({ clientId, generation }), expiresAt };
  }
}

/**
 * Whether the browser uses TLS. The origin of its page decides: behind a proxy that terminates TLS, the request itself has
 * none.
 */
const isOverTls = ({ headers: { origin }, protocol }: FastifyRequest): boolean =>
  origin === undefined ? protocol === 'https' : origin.startsWith('https:');

/** Serves the page for operators. Its files contain no data, so anyone may read them. */
@Controller()
@Access({ kind: 'public' })
export class PageController {
  readonly #page = new Page('console');

  @Get()
  @Text('readHome', 'The console', {
    description: 'The page for operators. Whatever it shows or does is a call of this API.',
    answer: { description: 'The page.', mediaType: 'text/html', content: { schema: z.string() } },
    problems: ['not-found'],
  })
  async document(@Res({ passthrough: true }) reply: FastifyReply): Promise<Buffer> {
    return sent(await this.#page.document(), reply);
  }

  @Get('files/:name')
  @Text('readPageFile', 'A file of the console', {
    path: { name: { schema: z.string().max(100).describe('As the page names it.'), example: 'main-5F2KQ7ZD.js' } },
    answer: { description: 'Its bytes.', mediaType: 'text/javascript', content: { schema: z.string() } },
    problems: ['not-found'],
  })
  async file(
    @Param('name') name: string,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Buffer> {
    return sent(await this.#page.file(name, request.headers['accept-encoding']?.toString()), reply);
  }
}

/** @throws ProblemError `not-found` */
function sent(served: Served | undefined, reply: FastifyReply): Buffer {
  if (served === undefined)
    throw new ProblemError('not-found', 'There is no such file of the console, or the console was not built.');
  void reply.headers(served.headers);
  return served.bytes;
}
