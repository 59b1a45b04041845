import { Inject, Injectable } from '@nestjs/common';
import { Gauge, Registry } from 'prom-client';
import { Breakers } from './breakers.js';
import { EndpointSlots } from './endpoint-slots.js';
import { UnprovenOrigins } from './unproven-origins.js';

type Known = Pick<EndpointSlots, 'endpoints'>;
type Barred = Pick<Breakers, 'barred'>;
type Unproven = Pick<UnprovenOrigins, 'unproven'>;

/** How many endpoints are in each state: counted at each scrape, without ids or URLs as labels. */
@Injectable()
export class EndpointGauge {
  constructor(
    registry: Registry,
    @Inject(EndpointSlots) known: Known,
    @Inject(Breakers) breakers: Barred,
    @Inject(UnprovenOrigins) origins: Unproven,
  ) {
    registry.registerMetric(
      new Gauge({
        name: 'relay_endpoints',
        help: 'Endpoints that this worker attempts, or whose breaker it knows, by how they stand.',
        labelNames: ['state'],
        registers: [],
        collect() {
          for (const [state, count] of Object.entries(endpointsByState(known, breakers, origins, Date.now())))
            this.set({ state }, count);
        },
      }),
    );
  }
}

/** Each endpoint counts once: what bars it counts before how it answered. */
export function endpointsByState(
  known: Known,
  breakers: Barred,
  origins: Unproven,
  now: number,
): Record<string, number> {
  const counts = { healthy: 0, troubled: 0, resting: 0, paused: 0, unproven: 0 };
  const barred = new Map(breakers.barred(now));
  for (const why of barred.values()) counts[why] += 1;
  const unproven = new Set(origins.unproven());
  for (const endpoint of unproven) if (!barred.has(endpoint)) counts.unproven += 1;
  for (const [endpoint, isTroubled] of known.endpoints())
    if (!barred.has(endpoint) && !unproven.has(endpoint)) counts[isTroubled ? 'troubled' : 'healthy'] += 1;
  return counts;
}
