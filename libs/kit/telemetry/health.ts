import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { RELAY_VERSION } from '@relay/config';
import { Gauge, type Registry } from 'prom-client';

/**
 * Returns a description of a fault for the operator; undefined if there is none. A check must be fast and synchronous, so it
 * reads a state and sends no request.
 */
type HealthCheck = () => string | undefined;

/**
 * Health of a process. Liveness fails only if a restart helps. Readiness fails while the process cannot do its work, and
 * recovers by itself. Both are derived from the state of the producer, the consumer and Redis. They never open a connection
 * of their own, because it could succeed while the consumer is dead.
 */
export class Health {
  readonly #live = new Map<string, HealthCheck>();
  readonly #ready = new Map<string, HealthCheck>();

  live(name: string, check: HealthCheck): void {
    this.#live.set(name, check);
  }

  ready(name: string, check: HealthCheck): void {
    this.#ready.set(name, check);
  }

  get liveFaults(): Record<string, string> {
    return faultsOf(this.#live);
  }

  /** A process that is not live is not ready either. */
  get readyFaults(): Record<string, string> {
    return { ...faultsOf(this.#live), ...faultsOf(this.#ready) };
  }
}

function faultsOf(checks: ReadonlyMap<string, HealthCheck>): Record<string, string> {
  const faults: Record<string, string> = {};
  for (const [name, check] of checks) {
    const fault = check();
    if (fault !== undefined) faults[name] = fault;
  }
  return faults;
}

export function registerProcessMetrics(registry: Registry, role: string, health: Health): void {
  const build = new Gauge({
    name: 'relay_build_info',
    help: 'Always 1; the labels say what runs.',
    labelNames: ['role', 'version', 'node'],
    registers: [registry],
  });
  build.set({ role, version: RELAY_VERSION, node: process.versions.node }, 1);
  registry.registerMetric(
    new Gauge({
      name: 'relay_ready',
      help: '1 while this process answers 200 on /health/ready, else 0.',
      labelNames: ['role'],
      registers: [],
      collect() {
        this.set({ role }, Object.keys(health.readyFaults).length === 0 ? 1 : 0);
      },
    }),
  );
}

/** Maximum connections. There are only a few probes and scrapers. */
const MAX_CONNECTIONS = 200;
/** Milliseconds in which a request must arrive. A probe sends it as soon as it is connected. */
const HEADERS_TIMEOUT_MS = 5_000;
/**
 * Milliseconds without traffic after which a connection is closed. Otherwise a scraper that does not read its response would
 * keep the response in memory.
 */
const SILENCE_MS = 60_000;

/**
 * Serves `/health/live`, `/health/ready` and `/metrics` on the port for operators. Resolves as soon as it listens. If there
 * are too many connections, the oldest is closed and the new one is accepted. If new connections were refused instead, a
 * client with many connections could make the probes fail, and the process would be restarted.
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
    // Probes and scrapers do not pipeline requests. Node would otherwise keep a response for each pipelined request.
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
