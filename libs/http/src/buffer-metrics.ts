import type { Server } from 'node:http';
import { Gauge, type Registry } from 'prom-client';
import type { BodyBudget } from './body-budget.js';

/** Registers the gauges of buffered bodies and open connections. */
export function registerBufferMetrics(
  registry: Registry,
  budget: BodyBudget,
  server: Pick<Server, 'getConnections'>,
): void {
  const buffered = new Gauge({
    name: 'relay_http_buffered_bytes',
    help: 'Bytes of bodies that are being received or answered, and of answers over 4 KiB that are not sent yet.',
    registers: [],
    collect() {
      this.set(budget.used);
    },
  });
  const connections = new Gauge({
    name: 'relay_http_connections',
    help: 'Open connections of callers.',
    registers: [],
    collect() {
      return new Promise<void>((resolve) =>
        server.getConnections((_error, open) => {
          this.set(open);
          resolve();
        }),
      );
    },
  });
  for (const gauge of [buffered, connections]) registry.registerMetric(gauge);
}
