import { Histogram, type Registry } from 'prom-client';
import type { FastifyReply, FastifyRequest } from './fastify-request.js';

/** Label of requests to unknown paths: the caller chooses such a path, so it must not become a label. */
const NO_ROUTE = 'unknown';

/**
 * Registers the durations of requests by route and status; name and buckets follow OpenTelemetry’s semantic conventions
 * for HTTP.
 * @returns the function to call after each answered request
 */
export function registerRequestMetrics(registry: Registry): (request: FastifyRequest, reply: FastifyReply) => void {
  const durations = new Histogram({
    name: 'http_server_request_duration_seconds',
    help: 'From a request’s head to the end of its answer, by route.',
    labelNames: ['http_request_method', 'http_route', 'http_response_status_code'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10],
    registers: [registry],
  });
  return ({ method, is404, routeOptions }, reply) => {
    const { statusCode, elapsedTime } = reply;
    // A stream lasts until its client leaves.
    if (reply.getHeader('content-type') === 'text/event-stream') return;
    const labels = {
      http_request_method: method,
      http_route: is404 ? NO_ROUTE : (routeOptions.url ?? NO_ROUTE),
      http_response_status_code: statusCode,
    };
    durations.observe(labels, elapsedTime / 1_000);
  };
}
