import { Gauge, type Registry } from 'prom-client';
import type { Breakers } from '../delivery/breakers.js';
import type { DeliveryDispatcher } from '../delivery/delivery-dispatcher.js';
import type { UnprovenOrigins } from '../delivery/unproven-origins.js';

type Known = Pick<DeliveryDispatcher, 'endpoints'>;
type Barred = Pick<Breakers, 'barred'>;
type Tried = Pick<UnprovenOrigins, 'unproven'>;

/** How many endpoints are in each state: counted when it is scraped, no ids or URLs as labels. */
export function registerEndpointGauge(
  registry: Registry,
  known: Known,
  breakers: Barred,
  probation: Tried,
  now: () => number,
): void {
  registry.registerMetric(
    new Gauge({
      name: 'relay_endpoints',
      help: 'Endpoints that this worker attempts, or whose breaker it knows, by how they stand.',
      labelNames: ['state'],
      registers: [],
      collect() {
        for (const [state, count] of Object.entries(endpointsByState(known, breakers, probation, now())))
          this.set({ state }, count);
      },
    }),
  );
}

/** Each endpoint counts once: what bars it says more than how it answered. */
export function endpointsByState(
  known: Known,
  breakers: Barred,
  probation: Tried,
  now: number,
): Record<string, number> {
  const counts = { healthy: 0, troubled: 0, resting: 0, paused: 0, unproven: 0 };
  const barred = new Map(breakers.barred(now));
  for (const why of barred.values()) counts[why] += 1;
  const unproven = new Set(probation.unproven());
  for (const endpoint of unproven) if (!barred.has(endpoint)) counts.unproven += 1;
  for (const [endpoint, isTroubled] of known.endpoints())
    if (!barred.has(endpoint) && !unproven.has(endpoint)) counts[isTroubled ? 'troubled' : 'healthy'] += 1;
  return counts;
}
