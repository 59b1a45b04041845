import { Catch, type ArgumentsHost, type ExceptionFilter } from '@nestjs/common';
import { traceIdOf } from '@relay/events';
import { ProblemError, toProblem } from '@relay/problem';
import { reasonOf, type Log, type ThrottledLog } from '@relay/telemetry';
import type { FastifyReply, FastifyRequest } from './fastify-request.js';
import { loggedPathOf, pathOf, type KnownRoutes } from './known-routes.js';
import { problemOf } from './problem-of.js';

export interface ProblemSettings {
  readonly publicUrl: string;
  readonly routes: KnownRoutes;
}

/** The parts of a request that an error names. */
export type RequestContext = Pick<FastifyRequest, 'id' | 'url' | 'method' | 'headers' | 'envelopeId'>;

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/**
 * Writes every error as `application/problem+json` (RFC 9457). An unexpected error is logged with its stack and
 * answered without it.
 */
@Catch()
export class ProblemFilter implements ExceptionFilter {
  constructor(
    private readonly settings: ProblemSettings,
    private readonly log: Log,
    private readonly throttled: ThrottledLog,
  ) {}

  catch(thrown: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    const { status, headers, body } = this.answerTo(thrown, http.getRequest<FastifyRequest>());
    void http.getResponse<FastifyReply>().status(status).headers(headers).send(body);
  }

  answerTo(thrown: unknown, request: RequestContext): Answer {
    const instance = pathOf(request.url);
    let problem = problemOf(thrown);
    // Without a route the framework may reject something else first, such as the body, although the method is wrong. A
    // literal path such as `/deliveries/batch` also matches `/deliveries/:envelopeId` for other methods, where it names
    // nothing.
    const methods = this.settings.routes.methodsOf(instance);
    if (methods.length > 0 && !methods.includes(request.method)) problem = wrongMethod(methods.join(', '));
    this.#log(problem, request);
    const at = { publicUrl: this.settings.publicUrl, instance, requestId: request.id };
    return {
      status: problem.status,
      // Its handler may have allowed caches to keep what it would have answered.
      headers: { ...problem.extra.headers, 'content-type': 'application/problem+json', 'cache-control': 'no-store' },
      body: Buffer.from(JSON.stringify(toProblem(problem, at))),
    };
  }

  #log(problem: ProblemError, request: RequestContext): void {
    const fields = { ...requestFacts(request), reason: reasonOf(problem.cause) };
    if (problem.code === 'unavailable') this.throttled.warn('request.unavailable', problem.detail, fields);
    if (problem.code !== 'internal') return;
    const stack = problem.cause instanceof Error ? problem.cause.stack : undefined;
    this.log.error('request.failed', 'A request failed unexpectedly', { ...fields, stack });
  }
}

/** The fields of a log line about a request. */
export const requestFacts = ({ id, url, method, headers: { traceparent }, envelopeId }: RequestContext) => ({
  requestId: id,
  traceId: traceIdOf(typeof traceparent === 'string' ? traceparent : undefined),
  envelopeId,
  method,
  path: loggedPathOf(pathOf(url)),
});

const wrongMethod = (allow: string): ProblemError =>
  new ProblemError('method-not-allowed', `This path accepts ${allow}.`, { headers: { allow } });
