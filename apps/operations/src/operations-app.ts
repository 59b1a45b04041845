import type { CallHandler, DynamicModule, ExecutionContext, NestInterceptor } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { Audit } from '@relay/audit';
import { callerOf, createHttpApp, type FastifyRequest, KnownRoutes, ProblemFilter, problemOf } from '@relay/http';
import { ProblemError } from '@relay/problem';
import type { OperationsConfig } from '@relay/settings';
import { Log, ThrottledLog } from '@relay/telemetry';
import type { FastifyInstance } from 'fastify';
import { catchError, type Observable } from 'rxjs';
import { assertOwnOrigin, assertRole, assertWritable, isChange, OperatorGuard } from './access/operator-guard.js';
import { assertBoardChange, Board, BOARD_PATH } from './board/board.adapter.js';

/** Content security policy of the board’s page: its own scripts and styles, no external resources, no frames. */
const BOARD_POLICY =
  "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; frame-ancestors 'none'; form-action 'self'";

/** Paths that a browser needs before an operator signs in. */
const PUBLIC = new Set(['/', '/files/:name', '/session']);

/**
 * Creates the HTTP application, which does not listen yet. One hook admits operators before every route, including routes of
 * the board and unknown ones.
 */
export async function createOperationsApp(
  module: DynamicModule,
  config: OperationsConfig,
): Promise<NestFastifyApplication> {
  const app = await createHttpApp(module, config);
  const [gate, audit, board] = [app.get(OperatorGuard), app.get(Audit), app.get(Board)];
  const fastify = app.getHttpAdapter().getInstance();
  limitAnswers(fastify);
  // This filter knows no routes, because the board itself checks the methods of its paths.
  const settings = { publicUrl: config.PUBLIC_URL, routes: new KnownRoutes() };
  const problems = new ProblemFilter(settings, app.get(Log), app.get(ThrottledLog));
  app.useGlobalInterceptors(new UnconfirmedInterceptor());
  fastify.addHook('onRoute', ({ method, url, config: rules }) => {
    const isKnown = rules?.access?.kind === 'operator' || (rules?.access?.kind === 'public' && PUBLIC.has(url));
    if (!isKnown && !url.startsWith(BOARD_PATH))
      throw new Error(`${String(method)} ${url} does not say which role may call it: @Access`);
  });
  fastify.addHook('onRequest', async (request: FastifyRequest) => {
    const { access } = request.routeOptions.config;
    assertOwnOrigin(request);
    if (access?.kind === 'public') return;
    const caller = await gate.admit(request);
    if (access?.kind === 'operator') assertRole(caller.scopes, access.role);
    if (isChange(request.method)) assertWritable(config.OPERATIONS_WRITE);
  });
  await fastify.register(
    async (scope) => {
      scope.setErrorHandler((error, request: FastifyRequest, reply) => {
        const { status, headers, body } = problems.answerTo(error, request);
        return reply.status(status).headers(headers).send(body);
      });
      scope.addHook('onRequest', async (request: FastifyRequest, reply) => {
        void reply.header('content-security-policy', BOARD_POLICY);
        if (!isChange(request.method)) return;
        const { clientId: operator, scopes } = callerOf(request);
        const [path = ''] = request.url.split('?', 1);
        assertRole(scopes, 'operator');
        assertBoardChange(request.method, path, config.OPERATIONS_WRITE === true);
        await audit.report({ event: 'board.change', operator, requestId: request.id, method: request.method, path });
      });
      await scope.register(board.plugin);
    },
    { prefix: BOARD_PATH },
  );
  return app;
}

/** Time for an answer in ms: every request is answered within 10 s, whatever the state of Kafka and Redis. */
const ANSWER_MS = 9_000;

/**
 * Answers 503 if there is no answer within ANSWER_MS. The work continues, and its answer is dropped. Must be called before
 * any other hook is added.
 */
export function limitAnswers(fastify: Pick<FastifyInstance, 'addHook'>): void {
  fastify.addHook('onRequest', (request, reply, done) => {
    const timer = setTimeout(() => {
      // The head of a streamed file has already been sent.
      if (!reply.sent && !reply.raw.headersSent) reply.send(lateOf(request.method));
    }, ANSWER_MS);
    reply.raw.once('close', () => clearTimeout(timer));
    done();
  });
}

/** Detail for a change whose result is unknown. */
const MAY_BE_MADE = 'The change may have been made, in full or in part: look before you repeat it.';

function lateOf(method: string): ProblemError {
  const late = `There was no answer within ${ANSWER_MS / 1_000} s: Kafka or Redis is down or slow.`;
  const cause = new Error('the time for an answer is over');
  if (!isChange(method)) return new ProblemError('unavailable', late, { headers: { 'retry-after': '5' }, cause });
  // The answer has no Retry-After, because the first change may still be running beside a repeat.
  return new ProblemError('unavailable', `${late} ${MAY_BE_MADE}`, { cause });
}

/** Adds to the answer that a change may be incomplete, if Redis went away during it. */
class UnconfirmedInterceptor implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    if (!isChange(context.switchToHttp().getRequest<FastifyRequest>().method)) return next.handle();
    return next.handle().pipe(
      catchError((thrown: unknown) => {
        const problem = problemOf(thrown);
        // A ProblemError already says what became of the change.
        if (thrown instanceof ProblemError || problem.code !== 'unavailable') throw thrown;
        throw new ProblemError('unavailable', `${problem.detail} ${MAY_BE_MADE}`, problem.extra);
      }),
    );
  }
}
