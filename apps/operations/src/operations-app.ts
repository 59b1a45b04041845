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

/** Content security policy of the board: only its own scripts and styles, no external resources, no frames. */
const BOARD_POLICY =
  "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; frame-ancestors 'none'; form-action 'self'";

/** Paths that a browser loads before an operator has signed in. */
const PUBLIC = new Set(['/', '/files/:name', '/session', '/session/code', '/session/links']);

/**
 * Creates the HTTP application without listening yet. One hook authenticates the operator before every request, including
 * requests to the board and to unknown paths.
 */
export async function createOperationsApp(
  module: DynamicModule,
  config: OperationsConfig,
): Promise<NestFastifyApplication> {
  const app = await createHttpApp(module, config);
  const [gate, audit, board] = [app.get(OperatorGuard), app.get(Audit), app.get(Board)];
  const fastify = app.getHttpAdapter().getInstance();
  limitAnswers(fastify);
  // The filter gets an empty list of routes, because it answers for the board, which checks the methods of its paths itself.
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

/** Milliseconds after which a request is answered with 503, so every answer arrives within 10 s even if a store is down. */
const ANSWER_MS = 9_000;

/**
 * Answers 503 if the handler does not answer within ANSWER_MS. The handler continues, and its late answer is dropped. Must
 * be called before any other hook is added.
 */
export function limitAnswers(fastify: Pick<FastifyInstance, 'addHook'>): void {
  fastify.addHook('onRequest', (request, reply, done) => {
    const timer = setTimeout(() => {
      // For a streamed file, the response headers have already been sent.
      if (!reply.sent && !reply.raw.headersSent) reply.send(lateOf(request.method));
    }, ANSWER_MS);
    reply.raw.once('close', () => clearTimeout(timer));
    done();
  });
}

/** Added to the detail of a problem if the result of a change is unknown. */
const MAY_BE_MADE = 'The change may have been made, in full or in part: look before you repeat it.';

function lateOf(method: string): ProblemError {
  const late = `There was no answer within ${ANSWER_MS / 1_000} s: Kafka or Redis is down or slow.`;
  const cause = new Error('the time for an answer is over');
  if (!isChange(method)) return new ProblemError('unavailable', late, { headers: { 'retry-after': '5' }, cause });
  // The answer has no Retry-After, because the first change may still be in progress when the client repeats it.
  return new ProblemError('unavailable', `${late} ${MAY_BE_MADE}`, { cause });
}

/** Adds a warning to the answer if a store became unavailable during a change, which may therefore be incomplete. */
class UnconfirmedInterceptor implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    if (!isChange(context.switchToHttp().getRequest<FastifyRequest>().method)) return next.handle();
    return next.handle().pipe(
      catchError((thrown: unknown) => {
        const problem = problemOf(thrown);
        // A ProblemError already describes the result of the change.
        if (thrown instanceof ProblemError || problem.code !== 'unavailable') throw thrown;
        throw new ProblemError('unavailable', `${problem.detail} ${MAY_BE_MADE}`, problem.extra);
      }),
    );
  }
}
