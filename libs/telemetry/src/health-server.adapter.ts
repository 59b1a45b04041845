import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Registry } from 'prom-client';
import type { Health } from './health.js';

/** Probes and scrapers are few. */
const MAX_CONNECTIONS = 200;
/** A probe asks as soon as it is connected. */
const HEADERS_TIMEOUT_MS = 5_000;
/** A connection on which nothing moves for so long is ended: a scraper that reads no answer would keep the answer in memory. */
const SILENCE_MS = 60_000;

/**
 * Serves `/health/live`, `/health/ready` and `/metrics` on the operators' own port. Resolves when it listens. A connection beyond
 * the limit ends the oldest one: refused connections would let anybody who holds many fail the probes, which restarts the process.
 */
export async function serveHealth(port: number, health: Health, metrics: Registry): Promise<Server> {
  let scrape: Promise<string> | undefined;
  const scraped = (): Promise<string> =>
    (scrape ??= metrics.metrics().finally(() => {
      scrape = undefined;
    }));
  const answer = ({ url }: IncomingMessage, response: ServerResponse): void => {
    const tell = (faults: Record<string, string>): void => {
      const well = Object.keys(faults).length === 0;
      response.writeHead(well ? 200 : 503, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ status: well ? 'ok' : 'unavailable', faults }));
    };
    switch (url) {
      case '/health/live':
        return tell(health.liveFaults);
      case '/health/ready':
        return tell(health.readyFaults);
      case '/metrics':
        void scraped().then(
          (text) => response.writeHead(200, { 'content-type': metrics.contentType }).end(text),
          () => response.writeHead(500).end(),
        );
        return undefined;
      default:
        response.writeHead(404).end();
        return undefined;
    }
  };
  const settings = { headersTimeout: HEADERS_TIMEOUT_MS, connectionsCheckingInterval: 1_000 };
  const open = new Set<Socket>();
  const answering = new WeakSet<Socket>();
  const server = createServer(settings, (request, response) => {
    const { socket } = request;
    // No probe and no scraper pipelines; Node would keep an answer for each request that it finds in one read.
    if (answering.has(socket)) socket.destroy();
    if (socket.destroyed) return;
    answering.add(socket);
    response.once('close', () => answering.delete(socket));
    answer(request, response);
  });
  server.setTimeout(SILENCE_MS);
  server.on('connection', (socket: Socket) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
    if (open.size <= MAX_CONNECTIONS) return;
    const [oldest = socket] = open;
    open.delete(oldest);
    oldest.destroy();
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, resolve);
  });
  return server;
}
