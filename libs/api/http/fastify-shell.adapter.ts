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
/**
 * Time in ms after which a silent connection is ended. Without it, a client that reads no answer keeps the connection for
 * ever.
 */
const SILENCE_MS = 90_000;
/** Maximum length of a path parameter, in characters. The id of a delivery of a replay by time has 104. */
const MAX_PARAM_LENGTH = 300;
/**
 * Time in ms for which a closing server still keeps connections open. Node treats a connection as idle until it has begun to
 * read a request, and resets idle connections when the server closes.
 */
const LINGER_MS = 500;

export interface ShellSettings {
  readonly PUBLIC_URL: string;
  readonly TRUST_PROXY: boolean | number | string;
  readonly MAX_CONNECTIONS: number;
  readonly MAX_BUFFERED_BYTES: number;
}

/**
 * Creates Fastify with the relay’s rules of HTTP. Bodies arrive as they were sent: an empty body with a JSON content type is
 * no error, and GET may have a body. Limits depend on the route. No answer has Fastify’s own error format: Nest’s filter
 * answers the errors of handlers, and `answerTo` answers errors of the router, which occur before Nest is called.
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
    // Fastify runs no hooks for these errors, so the answer is written directly to Node’s response.
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
        // RFC 9112 section 9.6: bytes that follow the last request of a connection are not read.
        if (socket.writable && code !== 'HPE_CLOSED_CONNECTION')
          socket.write(answerUnread(code, config.PUBLIC_URL, randomUUID()));
        socket.destroy();
      });
    },
    // While the server closes, requests on open connections are still answered, with `connection: close`.
    return503OnClosing: false,
    requestTimeout: REQUEST_TIMEOUT_MS,
    connectionTimeout: SILENCE_MS,
    routerOptions: { maxParamLength: MAX_PARAM_LENGTH },
    // This is longer than the idle timeout of a load balancer, usually 60 s. The balancer therefore closes first, and no
    // request meets a connection that is being closed.
    keepAliveTimeout: 72_000,
    http: {
      maxHeaderSize: 16 * 1024,
      headersTimeout: HEADERS_TIMEOUT_MS,
      connectionsCheckingInterval: 2_000,
      // `refusedHead` answers a request without Host with a problem document. If this is true, Node answers it without a
      // body.
      requireHostHeader: false,
    },
    skipMiddie: true,
  });
  const fastify = adapter.getInstance();
  const routes = new KnownRoutes();

  // The requests of a connection are counted before Fastify allocates anything for them.
  const handlers = fastify.server.listeners('request') as RequestListener[];
  fastify.server.removeAllListeners('request');
  const turns = new RequestTurns();
  const requests = new OpenRequests((request, response) =>
    turns.take(
      () => {
        for (const handle of handlers) handle.call(fastify.server, request, response);
      },
      // A request counts as light only if its connection has already carried a valid credential, so that guessing
      // credentials is not cheap.
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
  // RFC 9110 section 10.1.1 permits ignoring expectations other than 100-continue. Without this, Node answers 417 without a
  // body.
  fastify.server.on('checkExpectation', (request, response) => fastify.server.emit('request', request, response));
  // The shell sends 100 only for a body that it will read, so that a refused caller need not send its body.
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
  // Fastify caches the parser of a type that is named, but looks up the parser of any other type for each request.
  fastify.addContentTypeParser(DEFAULT_TYPES, read);
  fastify.addContentTypeParser('*', read);
  fastify.addHook('onRoute', (route) => {
    routes.add(route.url, typeof route.method === 'string' ? [route.method] : route.method);
  });
  fastify.addHook('onRequest', (request, reply, done) => {
    // Node itself takes the date from the host's clock. The portal calculates the expiry of its token from this date.
    const date = new Date(Date.now()).toUTCString();
    void reply.headers(security).header('date', date).header('x-request-id', request.id);
    const refused =
      refusedHead(request.raw) ??
      (request.is404 ? undefined : refusedBody(request.headers, request.routeOptions.config.body));
    done(refused);
  });
  // The caller is known at this point. The body of a request for an unknown path is not read; otherwise Fastify buffers the
  // body before it answers 404.
  fastify.addHook('preParsing', (request, reply, _payload, done) => {
    if (request.caller !== undefined) connections.know(request.raw.socket, request.caller.clientId);
    if (request.is404)
      return done(new ProblemError('not-found', 'There is no such path: the OpenAPI document lists all.'));
    if (expectsContinue(request.headers)) reply.raw.writeContinue();
    return done();
  });
  fastify.addHook('preHandler', (request, _reply, done) => {
    refuseUnknown(request);
    done();
  });
  // If an answer ends while the server closes, Node keeps its connection open for keepAliveTimeout. This flag ends it
  // earlier.
  let isClosing = false;
  const rests = new UnreadRests();
  fastify.addHook('preClose', (done) => {
    isClosing = true;
    const end = (): void => {
      connections.endUnused();
      done();
    };
    onceRead(() => {
      // This calls close() of net.Server, because close() of the HTTP server resets idle connections at once.
      Server.prototype.close.call(fastify.server);
      fastify.server.getConnections((_error, open) =>
        open === 0 ? done() : setTimeout(() => onceRead(end), LINGER_MS),
      );
    });
  });
  fastify.addHook('onSend', (request, reply, payload, done) => {
    // The handler no longer needs the body. This is also true if the connection has ended already.
    request.heldBody?.release();
    request.heldBody = undefined;
    const { raw } = request;
    // If an answer is sent before the whole body has arrived, Node treats the connection as busy while the server closes.
    if (!raw.complete) {
      rests.add(raw);
      raw.once('end', () => isClosing && raw.socket.end());
    }
    if (isClosing) void reply.header('connection', 'close');
    // Without this, Fastify closes the connection at once, and a client that is still sending sees a reset instead of the
    // answer (RFC 9112 section 9.6). `rests` drops the rest of the body, at most until REQUEST_TIMEOUT_MS.
    else if (reply.statusCode === 413 || reply.statusCode === 503) void reply.removeHeader('connection');
    // Only strings count, because all answers that send a document share one Buffer.
    const length = typeof payload === 'string' ? payload.length : 0;
    if (holdAnswer(budget, request.caller?.clientId ?? '', length, reply.raw)) return done(null, payload);
    const { status, headers, body } = answerTo(noRoom(), request);
    void reply.code(status).removeHeader('link').headers(headers);
    return done(null, body);
  });
  return { adapter, routes };
}

/**
 * Calls back when all bytes that have already arrived are read. After the event loop was blocked for long, some connections
 * still wait to be accepted, and the kernel resets them when the listening socket closes. Some requests also wait on
 * connections that Node still treats as idle. One turn of the event loop is not enough, because timers run before the loop
 * reads, and the current turn may already have read.
 */
const onceRead = (then: () => void): void => void setImmediate(() => setImmediate(then));

/**
 * Returns an error for request headers without Host or with two Host headers (RFC 9112 section 3.2), and for headers with
 * two credentials. A proxy in front of the relay may have checked the credential that the relay ignores.
 */
function refusedHead({ httpVersion, headers, rawHeaders }: IncomingMessage): ProblemError | undefined {
  if (httpVersion === '1.1' && headers.host === undefined)
    return new ProblemError('invalid-request', 'The request has no Host header.');
  const repeated = ['host', 'authorization'].find((name) => isRepeated(rawHeaders, name));
  if (repeated === undefined) return undefined;
  return new ProblemError('invalid-request', `The request has more than one header ${repeated}.`);
}

/** @param rawHeaders alternately the names and values of headers */
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

/** Returns headers with which a browser neither runs nor frames nor stores an answer of the API. */
const securityHeaders = (publicUrl: string): Record<string, string> => ({
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  ...(publicUrl.startsWith('https:') ? { 'strict-transport-security': 'max-age=31536000' } : {}),
});
