import { isTraceparent } from '@relay/events';
import type { Tracing } from '@relay/telemetry';
import type { FastifyInstance } from 'fastify';

const BRING_ENVELOPES = new Set(['/deliveries', '/deliveries/batch']);

/**
 * Opens a span for each request with envelopes whose head can be read. The records and log lines of the request become
 * children of this span.
 */
export function traceRequests(fastify: FastifyInstance, tracing: Tracing): void {
  fastify.addHook('onRequest', (request, reply, done) => {
    const route = request.routeOptions.url ?? '';
    if (request.method !== 'POST' || !BRING_ENVELOPES.has(route)) return done();
    const { traceparent } = request.headers;
    const parent = typeof traceparent === 'string' && isTraceparent(traceparent) ? traceparent : undefined;
    const span = tracing.start(`POST ${route}`, 'server', parent, {
      'http.request.method': 'POST',
      'http.route': route,
    });
    request.raw.headers['traceparent'] = span.traceparent;
    reply.raw.once('close', () => {
      const { statusCode: status, writableFinished: isAnswered } = reply.raw;
      if (isAnswered) span.end({ 'http.response.status_code': status }, status >= 500 ? String(status) : undefined);
      else span.end({}, 'aborted');
    });
    return done();
  });
}
