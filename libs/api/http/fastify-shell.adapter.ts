import { randomUUID } from 'node:crypto';
import { ServerResponse, type IncomingMessage, type RequestListener } from 'node:http';
import { Server, type Socket } from 'node:net';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { ProblemError } from '@relay/problem';
import { BodyReader, DEFAULT_TYPES, holdAnswer, noRoom, refusedBody } from './body-reader.js';
import type { BodyBudget, Done } from './body-reader.js';
import {
  Connections,
  endAtTinyPieces,
  OpenRequests,
  RequestTurns,
  stopParsingWhenEnded,
  UnreadRests,
} from './connections.js';
import { type FastifyRequest, refuseUnknown } from './fastify-request.js';
import { KnownRoutes, answerUnread, type Answer, type RequestContext } from './problem.filter.js';

const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 30_000;
/** Ends silent connections; otherwise a client that reads no answer holds the connection and the answer for ever. */
const SILENCE_MS = 90_000;
/** Longest parameter of a path, in characters: the id of a delivery of a replay by time has 104. */
const MAX_PARAM_LENGTH = 300;
/**
 * How long a closing server keeps connections open, in ms: Node treats a connection as idle until it has begun to read a
 * request, and resets it.
 */
const LINGER_MS = 500;

export interface ShellSettings {
  readonly PUBLIC_URL: string;
  readonly TRUST_PROXY: boolean | number | string;
  readonly MAX_CONNECTIONS: number;
  readonly MAX_BUFFERED_BYTES: number;
}

/**
 * Fastify with the relay’s rules of HTTP: bytes as they were sent (an empty body with a JSON content type is no error,
 * GET may have a body), limits by route, and no answer in Fastify’s own error format. Nest’s filter answers errors of
 * handlers; `answerTo` answers errors of the router, which come earlier.
 */
export function fastifyShell(
  config: ShellSettings,
  budget: BodyBudget,
  answerTo: (thrown: unknown, request: RequestContext) => Answer,
  lightPath?: string,
): { adapter: FastifyAdapter; routes: KnownRoutes } {
  const security = securityHeaders(config.PUBLIC_URL);
  const hops = config.TRUST_PROXY;
  const adapter = new FastifyAdapter({
    trustProxy: typeof hops === 'number' ? (_address, hop) => hop < hops : hops,
    genReqId: (request: Pick<IncomingMessage, 'headers'>) => requestIdOf(request.headers['x-request-id']),
    // Hooks do not run for these errors, so the answer bypasses Fastify.
    frameworkErrors: (error: unknown, request: RequestContext, { raw }: { raw: unknown }) => {
      if (!(raw instanceof ServerResponse)) return;
      const { status, headers, body } = answerTo(error, request);
      raw
        .writeHead(status, { ...security, ...headers, 'x-request-id': request.id, 'content-length': body.length })
        .end(body);
    },
    clientErrorHandler: ({ code }, socket) => {
      if (code === 'ECONNRESET') socket.destroy();
      requests.end(socket, () => {
        // RFC 9112 section 9.6: bytes after the last request of a connection are not read.
        if (socket.writable && code !== 'HPE_CLOSED_CONNECTION')
          socket.write(answerUnread(code, config.PUBLIC_URL, randomUUID()));
        socket.destroy();
      });
    },
    // A closing server still answers requests on open connections, with `connection: close`.
    return503OnClosing: false,
    requestTimeout: REQUEST_TIMEOUT_MS,
    connectionTimeout: SILENCE_MS,
    routerOptions: { maxParamLength: MAX_PARAM_LENGTH },
    // Longer than a load balancer's idle time, usually 60 s: the balancer closes first, so no request meets a closing connection.
    keepAliveTimeout: 72_000,
    http: {
      maxHeaderSize: 16 * 1024,
      headersTimeout: HEADERS_TIMEOUT_MS,
      connectionsCheckingInterval: 2_000,
      // `refusedHead` answers with a problem; otherwise Node answers without a body.
      requireHostHeader: false,
    },
    skipMiddie: true,
  });
  const fastify = adapter.getInstance();
  const routes = new KnownRoutes();

  // Requests are counted before Fastify allocates anything for them.
  const handlers = fastify.server.listeners('request') as RequestListener[];
  fastify.server.removeAllListeners('request');
  const turns = new RequestTurns();
  const requests = new OpenRequests((request, response) =>
    turns.take(
      () => {
        for (const handle of handlers) handle.call(fastify.server, request, response);
      },
      // A connection without a valid credential so far gets no light requests, so guessing credentials is not cheaper.
      request.url === lightPath && connections.isKnown(request.socket),
    ),
  );
  fastify.server.on('request', (request, response) => requests.begin(request, response));
  const connections = new Connections(config.MAX_CONNECTIONS, () => fastify.server.emit('drop'));
  fastify.server.on('connection', (socket: Socket) => {
    connections.admit(socket);
    stopParsingWhenEnded(socket);
    endAtTinyPieces(socket);
  });
  // RFC 9110 section 10.1.1 permits ignoring expectations other than 100-continue; otherwise Node answers 417 without a body.
  fastify.server.on('checkExpectation', (request, response) => fastify.server.emit('request', request, response));
  // The shell sends 100 only for a body that it will read, so a refused caller need not send its body.
  fastify.server.on('checkContinue', (request, response) => fastify.server.emit('request', request, response));
  fastify.addHttpMethod('GET', { hasBody: true, overrideExisting: true });
  for (const name of ['rawBody', 'heldBody', 'caller', 'envelopeId']) fastify.decorateRequest(name, undefined);
  const bodies = new BodyReader(budget);
  fastify.removeAllContentTypeParsers();
  const read = (request: FastifyRequest, payload: IncomingMessage, done: Done): void =>
    bodies.read(request, payload, (error, bytes) => {
      request.rawBody = bytes?.length === 0 ? undefined : bytes;
      done(error, request.rawBody);
    });
  // Fastify caches the parser of a named type, and parses any other type again for each request.
  fastify.addContentTypeParser(DEFAULT_TYPES, read);
  fastify.addContentTypeParser('*', read);
  fastify.addHook('onRoute', (route) => {
    routes.add(route.url, typeof route.method === 'string' ? [route.method] : route.method);
  });
  fastify.addHook('onRequest', (request, reply, done) => {
    // Node's own header takes the host's clock. The portal counts from this date until its token expires.
    const date = new Date(Date.now()).toUTCString();
    void reply.headers(security).header('date', date).header('x-request-id', request.id);
    const refused =
      refusedHead(request.raw) ??
      (request.is404 ? undefined : refusedBody(request.headers, request.routeOptions.config.body));
    done(refused);
  });
  // By now the caller is known. A body for an unknown path is not read; otherwise Fastify buffers it for its 404.
  fastify.addHook('preParsing', (request, reply, _payload, done) => {
    if (request.caller !== undefined) connections.know(request.raw.socket, request.caller.clientId);
    if (request.is404) return done(new ProblemError('not-found', 'There is no such path.'));
    if (expectsContinue(request.headers)) reply.raw.writeContinue();
    return done();
  });
  fastify.addHook('preHandler', (request, _reply, done) => {
    refuseUnknown(request);
    done();
  });
  // If an answer ends after close() began, Node leaves its connection open until it has been idle for keepAliveTimeout.
  let isClosing = false;
  const rests = new UnreadRests();
  fastify.addHook('preClose', (done) => {
    isClosing = true;
    const end = (): void => {
      connections.endUnused();
      done();
    };
    onceRead(() => {
      // This calls close() of net.Server, because the HTTP server's own close() resets the idle connections at once.
      Server.prototype.close.call(fastify.server);
      fastify.server.getConnections((_error, open) =>
        open === 0 ? done() : setTimeout(() => onceRead(end), LINGER_MS),
      );
    });
  });
  fastify.addHook('onSend', (request, reply, payload, done) => {
    // The handler no longer needs the body, even if the connection ended long ago.
    request.heldBody?.release();
    request.heldBody = undefined;
    const { raw } = request;
    // After an answer before the end of the body, Node treats the connection as busy while the server closes.
    if (!raw.complete) {
      rests.add(raw);
      raw.once('end', () => isClosing && raw.socket.end());
    }
    if (isClosing) void reply.header('connection', 'close');
    // Otherwise Fastify closes at once, and a client that is still sending sees a reset instead of the answer (RFC 9112
    // section 9.6). On an open connection `rests` drops the rest of the body, until REQUEST_TIMEOUT_MS.
    else if (reply.statusCode === 413 || reply.statusCode === 503) void reply.removeHeader('connection');
    // Only strings count, because all answers with a document share one Buffer.
    const length = typeof payload === 'string' ? payload.length : 0;
    if (holdAnswer(budget, request.caller?.clientId ?? '', length, reply.raw)) return done(null, payload);
    const { status, headers, body } = answerTo(noRoom(), request);
    void reply.code(status).removeHeader('link').headers(headers);
    return done(null, body);
  });
  return { adapter, routes };
}

/**
 * Calls back once all bytes that have arrived are read. After a long block of the event loop, connections wait to be accepted,
 * which the kernel resets with the listening socket, and requests wait on connections that Node treats as idle. One turn is not
 * enough: timers run before the loop reads, and the present turn may have begun to read already.
 */
const onceRead = (then: () => void): void => void setImmediate(() => setImmediate(then));

/**
 * Refuses a head without a Host or with two (RFC 9112 section 3.2), and a head with two credentials, since a proxy in front may
 * have read the one that the relay ignores.
 */
function refusedHead({ httpVersion, headers, rawHeaders }: IncomingMessage): ProblemError | undefined {
  if (httpVersion === '1.1' && headers.host === undefined)
    return new ProblemError('invalid-request', 'The request has no Host header.');
  const repeated = ['host', 'authorization'].find((name) => isRepeated(rawHeaders, name));
  if (repeated === undefined) return undefined;
  return new ProblemError('invalid-request', `The request has more than one header ${repeated}.`);
}

/** @param rawHeaders names and values, alternating */
function isRepeated(rawHeaders: readonly string[], name: string): boolean {
  let count = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const given = rawHeaders[at] ?? '';
    if (given.length === name.length && given.toLowerCase() === name) count += 1;
  }
  return count > 1;
}

const expectsContinue = ({ expect }: IncomingMessage['headers']): boolean => expect?.toLowerCase() === '100-continue';

const requestIdOf = (given: string | string[] | undefined): string =>
  typeof given === 'string' && /^[\x21-\x7e]{1,128}$/.test(given) ? given : randomUUID();

/** Returns headers by which a browser neither runs, frames nor stores an answer of an API. */
const securityHeaders = (publicUrl: string): Record<string, string> => ({
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  ...(publicUrl.startsWith('https:') ? { 'strict-transport-security': 'max-age=31536000' } : {}),
});
