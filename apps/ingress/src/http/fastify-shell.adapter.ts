import { randomUUID } from 'node:crypto';
import { ServerResponse, type IncomingMessage } from 'node:http';
import { Server, type Socket } from 'node:net';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { ProblemError } from '@relay/problem';
import type { IngressConfig } from '../ingress.config.js';
import type { BodyBudget } from './body-budget.js';
import { BodyReader, noRoom } from './body-reader.js';
import { refusedBody } from './body-rule.js';
import { Connections } from './connections.js';
import './fastify-request.js';
import { holdAnswer } from './held-answer.js';
import { KnownRoutes } from './known-routes.js';
import { OpenRequests, stopParsingWhenEnded } from './open-requests.js';
import type { Answer, AskedBy } from './problem.filter.js';
import { boundUnreadPieces } from './unread-pieces.js';
import { answerUnread } from './unread-request.js';
import { UnreadRests } from './unread-rests.js';

const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 30_000;
/** A connection on which nothing moves for so long is ended: who reads no answer would hold it, and the answer, for ever. */
const SILENCE_MS = 90_000;
/** The id of a delivery has 104 characters in a replay by time. */
const MAX_PARAM_LENGTH = 300;
/** How long closing leaves open connections open: for Node, one whose request it has not begun to read is idle, and is reset. */
const LINGER_MS = 500;

/** What of an app's configuration its shell needs; the operations app has it too. */
export type ShellSettings = Pick<
  IngressConfig,
  'PUBLIC_URL' | 'TRUST_PROXY' | 'MAX_CONNECTIONS' | 'MAX_BUFFERED_BYTES'
>;

/**
 * Fastify as the contract wants HTTP: bytes as they came (an empty body with a JSON content type is no error, GET may have a
 * body), limits by route, and no answer in Fastify's own error shape. Nest's filter answers what reaches Nest; `answerTo`
 * is for what the router refuses before.
 */
export function fastifyShell(
  config: ShellSettings,
  budget: BodyBudget,
  answerTo: (thrown: unknown, request: AskedBy) => Answer,
): { adapter: FastifyAdapter; routes: KnownRoutes } {
  const security = securityHeaders(config.PUBLIC_URL);
  const hops = config.TRUST_PROXY;
  const adapter = new FastifyAdapter({
    trustProxy: typeof hops === 'number' ? (_address, hop) => hop < hops : hops,
    genReqId: (request: Pick<IncomingMessage, 'headers'>) => requestIdOf(request.headers['x-request-id']),
    // No hook ran and none will: the answer is written past Fastify.
    frameworkErrors: (error: unknown, request: AskedBy, { raw }: { raw: unknown }) => {
      if (!(raw instanceof ServerResponse)) return;
      const { status, headers, body } = answerTo(error, request);
      raw
        .writeHead(status, { ...security, ...headers, 'x-request-id': request.id, 'content-length': body.length })
        .end(body);
    },
    clientErrorHandler: (error, socket) => {
      if (socket.writable && error.code !== 'ECONNRESET')
        socket.write(answerUnread(error.code, config.PUBLIC_URL, randomUUID()));
      socket.destroy();
    },
    // While closing, what arrives on open connections is still answered, with `connection: close`.
    return503OnClosing: false,
    requestTimeout: REQUEST_TIMEOUT_MS,
    connectionTimeout: SILENCE_MS,
    routerOptions: { maxParamLength: MAX_PARAM_LENGTH },
    // Longer than a load balancer's idle time, usually 60 s: it closes first, so no request meets a closing connection.
    keepAliveTimeout: 72_000,
    http: {
      maxHeaderSize: 16 * 1024,
      headersTimeout: HEADERS_TIMEOUT_MS,
      connectionsCheckingInterval: 2_000,
      // Node would answer without a body; `refusedHead` does it.
      requireHostHeader: false,
    },
    skipMiddie: true,
  });
  const fastify = adapter.getInstance();
  const routes = new KnownRoutes();

  // Counted before Fastify makes anything of a request.
  const unanswered = new OpenRequests();
  const handlers = fastify.server.listeners('request') as ((
    request: IncomingMessage,
    response: ServerResponse,
  ) => void)[];
  fastify.server.removeAllListeners('request');
  fastify.server.on('request', (request, response) => {
    if (!unanswered.begin(request, response)) return;
    boundUnreadPieces(request);
    for (const handle of handlers) handle.call(fastify.server, request, response);
  });
  const connections = new Connections(config.MAX_CONNECTIONS, () => fastify.server.emit('drop'));
  fastify.server.on('connection', (socket: Socket) => {
    connections.admit(socket);
    stopParsingWhenEnded(socket);
  });
  // RFC 9110 section 10.1.1: an expectation other than 100-continue may be ignored; Node alone would answer 417 without a body.
  fastify.server.on('checkExpectation', (request, response) => fastify.server.emit('request', request, response));
  // And 100 is for a body that will be read: who is refused need not send it.
  fastify.server.on('checkContinue', (request, response) => fastify.server.emit('request', request, response));
  fastify.addHttpMethod('GET', { hasBody: true, overrideExisting: true });
  fastify.decorateRequest('rawBody', undefined);
  fastify.decorateRequest('heldBody', undefined);
  fastify.decorateRequest('caller', undefined);
  fastify.decorateRequest('envelopeId', undefined);
  const bodies = new BodyReader(budget);
  fastify.removeAllContentTypeParsers();
  fastify.addContentTypeParser('*', (request, payload, done) =>
    bodies.read(request, payload, (error, bytes) => {
      request.rawBody = bytes?.length === 0 ? undefined : bytes;
      done(error, request.rawBody);
    }),
  );
  fastify.addHook('onRoute', (route) => {
    routes.add(route.url, typeof route.method === 'string' ? [route.method] : route.method);
  });
  fastify.addHook('onRequest', (request, reply, done) => {
    void reply.headers(security).header('x-request-id', request.id);
    const refused =
      refusedHead(request.raw) ??
      (request.is404 ? undefined : refusedBody(request.headers, request.routeOptions.config.body));
    done(refused);
  });
  // By now it is known who calls. What nobody takes is not read: Fastify would hold it for its answer of 404.
  fastify.addHook('preParsing', (request, reply, _payload, done) => {
    if (request.caller !== undefined) connections.know(request.raw.socket, request.caller.clientId);
    if (request.is404) return done(new ProblemError('not-found', 'There is no such path.'));
    if (expectsContinue(request.headers)) reply.raw.writeContinue();
    return done();
  });
  // Node leaves a connection open whose answer ends after close() began, until it has been idle for keepAliveTimeout.
  let isClosing = false;
  const rests = new UnreadRests();
  fastify.addHook('preClose', (done) => {
    isClosing = true;
    // Not the HTTP server's own close(): that one would reset the idle connections at once.
    Server.prototype.close.call(fastify.server);
    fastify.server.getConnections((_error, open) => (open === 0 ? done() : setTimeout(done, LINGER_MS)));
  });
  fastify.addHook('onSend', (request, reply, payload, done) => {
    // The handler is done with it, also of a request whose connection has ended long ago.
    request.heldBody?.release();
    request.heldBody = undefined;
    const { raw } = request;
    if (!raw.complete) {
      rests.add(raw);
      // What then ends is a connection that Node takes for busy while it closes.
      raw.once('end', () => isClosing && raw.socket.end());
    }
    if (isClosing) void reply.header('connection', 'close');
    // Fastify would close at once, and a sender that is still sending would meet a reset instead of the answer (RFC 9112
    // section 9.6). Left open, the rest is dropped as it comes, until REQUEST_TIMEOUT_MS.
    else if (reply.statusCode === 413 || reply.statusCode === 503) void reply.removeHeader('connection');
    // What is a Buffer is shared by all answers.
    const length = typeof payload === 'string' ? payload.length : 0;
    if (holdAnswer(budget, request.caller?.clientId ?? '', length, reply.raw)) return done(null, payload);
    const { status, headers, body } = answerTo(noRoom(), request);
    void reply.code(status).removeHeader('link').headers(headers);
    return done(null, body);
  });
  return { adapter, routes };
}

/** RFC 9112 section 3.2: an HTTP/1.1 request names its host. */
const refusedHead = ({ httpVersion, headers }: IncomingMessage): ProblemError | undefined =>
  httpVersion === '1.1' && headers.host === undefined
    ? new ProblemError('invalid-request', 'The request has no Host header.')
    : undefined;

const expectsContinue = ({ expect }: IncomingMessage['headers']): boolean => expect?.toLowerCase() === '100-continue';

const requestIdOf = (given: string | string[] | undefined): string =>
  typeof given === 'string' && /^[\x21-\x7e]{1,128}$/.test(given) ? given : randomUUID();

/** An API shows nothing in a browser: whatever a browser makes of an answer, it may neither run, frame nor keep it. */
const securityHeaders = (publicUrl: string): Record<string, string> => ({
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  ...(publicUrl.startsWith('https:') ? { 'strict-transport-security': 'max-age=31536000' } : {}),
});
