import { STATUS_CODES } from 'node:http';
import { Catch, type ArgumentsHost, type ExceptionFilter } from '@nestjs/common';
import { traceIdOf } from '@relay/events';
import { ProblemError, toProblem, unavailable, type ProblemCode } from '@relay/problem';
import { reasonOf, type Log, type ThrottledLog } from '@relay/telemetry';
import { CannotOpen } from '@relay/keyring';
import { isRedisAway } from '@relay/redis';
import { RegistryUnavailable } from '@relay/redis';
import type { FastifyReply, FastifyRequest } from './fastify-request.js';

export type RequestContext = Pick<FastifyRequest, 'id' | 'url' | 'method' | 'headers' | 'envelopeId'>;

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/**
 * Writes every error as `application/problem+json` (RFC 9457). The stack of an unexpected error is logged, but not answered.
 */
@Catch()
export class ProblemFilter implements ExceptionFilter {
  constructor(
    private readonly settings: { readonly publicUrl: string; readonly routes: KnownRoutes },
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
    // A wrong method takes precedence, because the framework may already have rejected something else, such as the body. For
    // example, a GET of `/deliveries/batch` also matches `/deliveries/:envelopeId`, although `batch` is not the id of an
    // envelope.
    const methods = this.settings.routes.methodsOf(instance);
    if (methods.length > 0 && !methods.includes(request.method)) problem = wrongMethod(methods.join(', '));
    this.#log(problem, request);
    const at = { publicUrl: this.settings.publicUrl, instance, requestId: request.id };
    return {
      status: problem.status,
      // The handler may have set headers that let caches keep its answer. An error must not be kept.
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

export const requestFacts = ({ id, url, method, headers: { traceparent }, envelopeId }: RequestContext) => ({
  requestId: id,
  traceId: traceIdOf(typeof traceparent === 'string' ? traceparent : undefined),
  envelopeId,
  method,
  path: loggedPathOf(pathOf(url)),
});

const wrongMethod = (allow: string): ProblemError =>
  new ProblemError('method-not-allowed', `This path accepts ${allow}.`, { headers: { allow } });

/** Problems for errors of the HTTP layer, by status. They replace the messages of the framework, which reveal internals. */
const BY_STATUS: Readonly<Record<number, readonly [ProblemCode, string]>> = {
  400: ['invalid-request', 'The request cannot be read.'],
  401: ['unauthorized', 'The request has no valid credential.'],
  403: ['insufficient-scope', 'The request is not allowed to do this.'],
  404: ['not-found', 'There is no such path: the OpenAPI document lists all.'],
  408: ['request-timeout', 'The request did not arrive in time.'],
  413: ['payload-too-large', 'The body is longer than this path accepts.'],
  414: ['uri-too-long', 'A part of the path is too long.'],
  415: ['unsupported-media-type', 'The content type is malformed, or this path does not accept it.'],
  431: ['headers-too-large', 'The headers are too large.'],
};

/** Returns the problem document to answer for an error. The problem of an unexpected error is `internal`. */
export function problemOf(thrown: unknown): ProblemError {
  if (thrown instanceof ProblemError) return thrown;
  if (thrown instanceof RegistryUnavailable) return unconfirmed(thrown);
  if (thrown instanceof CannotOpen && thrown.isElsewhere)
    return unavailable('This process lacks the key of a stored value at the moment.', 2, thrown);
  if (isRedisAway(thrown)) return unavailable('Redis is not available at the moment.', 2, thrown);
  const [code, detail] = BY_STATUS[statusOf(thrown)] ?? ['internal', 'The relay failed to answer.'];
  const headers = code === 'unauthorized' ? { 'www-authenticate': 'Bearer realm="relay"' } : {};
  return new ProblemError(code, detail, { headers, cause: thrown });
}

/**
 * Returns the problem for a change with an unknown result, or for registrations that cannot be read or changed at the
 * moment.
 */
function unconfirmed(cause: RegistryUnavailable): ProblemError {
  const detail = cause.mayBeStored
    ? 'The relay could not confirm the change. It may have been stored: look before you repeat it.'
    : isRedisAway(cause.cause)
      ? 'Redis is not available at the moment: registrations can be neither read nor changed.'
      : 'Registrations cannot be read or changed at the moment. Nothing was stored: repeat it.';
  return unavailable(detail, 2, cause);
}

function statusOf(thrown: unknown): number {
  if (typeof thrown !== 'object' || thrown === null) return 0;
  const status: unknown = 'statusCode' in thrown ? thrown.statusCode : 'status' in thrown ? thrown.status : 0;
  return typeof status === 'number' ? status : 0;
}

/**
 * The paths and methods of all routes. With them, a wrong method (405 with Allow, RFC 9110 section 15.5.6) is distinguished
 * from an unknown path.
 */
export class KnownRoutes {
  readonly #routes: { pattern: RegExp; isLiteral: boolean; methods: readonly string[] }[] = [];

  add(url: string, methods: readonly string[]): void {
    const pattern = url
      .split('/')
      .map((part) => (part.startsWith(':') ? '[^/]+' : part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')))
      .join('/');
    this.#routes.push({ pattern: new RegExp(`^${pattern}$`), isLiteral: !url.includes('/:'), methods });
  }

  /** Returns the sorted methods of a path; none if the path is unknown. A literal route takes precedence over a pattern. */
  methodsOf(path: string): readonly string[] {
    const matching = this.#routes.filter(({ pattern }) => pattern.test(path));
    const literal = matching.filter(({ isLiteral }) => isLiteral);
    return [...new Set((literal.length > 0 ? literal : matching).flatMap(({ methods }) => methods))].toSorted();
  }
}

/** Returns the path of a request target without its query, because answers and logs must not contain the query. */
export const pathOf = (url: string): string => url.split('?', 1)[0] ?? '';

/** Returns a path as it may be logged. The id of a session is removed, because it is a credential. */
export const loggedPathOf = (path: string): string => path.replace(/^(\/+auth\/+session\/+)[^]*$/i, '$1…');

const PROBLEM_OF: Readonly<Record<string, ProblemError>> = {
  ERR_HTTP_REQUEST_TIMEOUT: new ProblemError('request-timeout', 'The request did not arrive in time.'),
  HPE_HEADER_OVERFLOW: new ProblemError('headers-too-large', 'The headers are too large.'),
};
const MALFORMED = new ProblemError('invalid-request', 'The request is not HTTP/1.1 as RFC 9112 defines it.');

/** Returns a complete HTTP answer to bytes that Node could not parse as a request. The answer ends the connection. */
export function answerUnread(code: string | undefined, publicUrl: string, requestId: string): string {
  const problem = PROBLEM_OF[code ?? ''] ?? MALFORMED;
  const body = JSON.stringify(toProblem(problem, { publicUrl, instance: '/', requestId }));
  return [
    `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status]}`,
    'content-type: application/problem+json',
    `content-length: ${Buffer.byteLength(body)}`,
    `x-request-id: ${requestId}`,
    'connection: close',
    '',
    body,
  ].join('\r\n');
}
