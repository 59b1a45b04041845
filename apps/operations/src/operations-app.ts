import { Audit } from '@relay/audit';
import type { DynamicModule } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { callerOf, createHttpApp, KnownRoutes, ProblemFilter, type FastifyRequest } from '@relay/http';
import type { OperationsConfig } from '@relay/settings';
import { Log, ThrottledLog } from '@relay/telemetry';
import { assertOwnOrigin, OperatorGuard } from './access/operator-guard.js';
import { assertRole, assertWritable } from './access/role.js';
import { Board, BOARD_PATH } from './board/board.adapter.js';
import { assertBoardChange } from './board/board-change.js';
import { isChange, limitAnswers, UnconfirmedInterceptor } from './http/answer-limit.js';

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
