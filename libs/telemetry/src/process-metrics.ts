import { RELAY_VERSION } from '@relay/config';
import { Gauge, type Registry } from 'prom-client';
import type { Health } from './health.js';

/** Registers the version and the readiness of a process. */
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
