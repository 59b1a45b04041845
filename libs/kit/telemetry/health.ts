import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { RELAY_VERSION } from '@relay/config';
import { Gauge, type Registry } from 'prom-client';

/** Describes a fault for the operator, or returns undefined without one. Cheap and synchronous: it reads a state and sends no request. */
type HealthCheck = () => string | undefined;

/**
 * Health of a process. Liveness fails only if a restart helps; readiness fails while the process cannot do its work, and
 * recovers by itself. Both derive from the state of producer, consumer and Redis, never from a new probe, which could succeed
 * beside a dead consumer.
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

/** Probes and scrapers are few. */
const MAX_CONNECTIONS = 200;
/** A probe asks as soon as it is connected. */
const HEADERS_TIMEOUT_MS = 5_000;
/**
 * Longest silence of a connection before it is ended, in ms: a scraper that reads no answer otherwise keeps the answer in
 * memory.
 */
const SILENCE_MS = 60_000;

/**
 * Serves `/health/live`, `/health/ready` and `/metrics` on the operators' own port. Resolves when it listens. A connection
 * beyond the limit ends the oldest one. If connections were refused, a client with many of them could fail the probes, which
 * restarts the process.
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
    // No probe and no scraper pipelines; otherwise Node keeps an answer for each request that it finds in one read.
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
