import { createServer, type Server } from 'node:http';
import type { Registry } from 'prom-client';
import type { Health } from './health.js';

/** Probes and scrapers are few. */
const MAX_CONNECTIONS = 200;

/** Serves `/health/live`, `/health/ready` and `/metrics` on the operators' own port. Resolves when it listens. */
export async function serveHealth(port: number, health: Health, metrics: Registry): Promise<Server> {
  const server = createServer((request, response) => {
    const answer = (faults: Record<string, string>): void => {
      const well = Object.keys(faults).length === 0;
      response.writeHead(well ? 200 : 503, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ status: well ? 'ok' : 'unavailable', faults }));
    };
    switch (request.url) {
      case '/health/live':
        return answer(health.liveFaults);
      case '/health/ready':
        return answer(health.readyFaults);
      case '/metrics':
        void metrics.metrics().then(
          (text) => response.writeHead(200, { 'content-type': metrics.contentType }).end(text),
          () => response.writeHead(500).end(),
        );
        return undefined;
      default:
        response.writeHead(404).end();
        return undefined;
    }
  });
  server.maxConnections = MAX_CONNECTIONS;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, resolve);
  });
  return server;
}
