import { Inject, Injectable } from '@nestjs/common';
import { Gauge, Registry } from 'prom-client';
import { Breakers } from './breakers.js';
import { AttemptSlots } from './attempt-slots.js';
import { UnprovenOrigins } from './unproven-origins.js';

type Known = Pick<AttemptSlots, 'known'>;
type Barred = Pick<Breakers, 'barred'>;
type Unproven = Pick<UnprovenOrigins, 'unproven'>;

/** Gauge of the endpoints in each state. They are counted at each scrape. Ids and URLs are not used as labels. */
@Injectable()
export class EndpointGauge {
  constructor(
    registry: Registry,
    @Inject(AttemptSlots) known: Known,
    @Inject(Breakers) breakers: Barred,
    @Inject(UnprovenOrigins) origins: Unproven,
  ) {
    registry.registerMetric(
      new Gauge({
        name: 'relay_endpoints',
        help: 'Endpoints of webhooks that this worker attempts, or whose breakers it knows, by how they stand.',
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

/** Returns the endpoint in the key of a breaker. The key is an endpoint or the `breakerKey` of a webhook. */
const endpointOf = (key: string): string => key.split(' ', 2).join(' ');

/**
 * Counts each webhook in one state. An open breaker has priority over the results of recent attempts. If a whole endpoint is
 * paused or has never answered 2xx, all its webhooks together count as one.
 */
export function endpointsByState(
  known: Known,
  breakers: Barred,
  origins: Unproven,
  now: number,
): Record<string, number> {
  const counts = { healthy: 0, troubled: 0, resting: 0, paused: 0, unproven: 0 };
  const barred = new Map(breakers.barred(now));
  const withBarred = new Set<string>();
  for (const [key, why] of barred) {
    const endpoint = endpointOf(key);
    withBarred.add(endpoint);
    if (key === endpoint || !barred.has(endpoint)) counts[why] += 1;
  }
  const unproven = new Set(origins.unproven());
  for (const endpoint of unproven) if (!withBarred.has(endpoint)) counts.unproven += 1;
  for (const [{ endpoint, id }, isTroubled] of known.known())
    if (!barred.has(endpoint) && !barred.has(`${endpoint} ${id}`) && !unproven.has(endpoint))
      counts[isTroubled ? 'troubled' : 'healthy'] += 1;
  return counts;
}
