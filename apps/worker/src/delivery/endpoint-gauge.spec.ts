import { ConcurrencyLimiter } from '@relay/admission';
import { ThrottledLog, type Log } from '@relay/telemetry';
import { Breaker, BreakerStore, CLOSED } from '@relay/breaker';
import { Registry } from 'prom-client';
import { Breakers } from './breakers.js';
import { EndpointGauge, endpointsByState } from './endpoint-gauge.js';

const NOW = 1_000_000;
const [HEALTHY, TROUBLED, PAUSED, RESTING, UNPROVEN, PARTLY] = ['p a', 'p b', 'p c', 'p d', 'p e', 'p f'];
const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} } as unknown as Log;

class Stored extends BreakerStore {
  async change(): Promise<never> {
    throw new Error('only read here');
  }

  async all(): Promise<ReadonlyMap<string, Breaker>> {
    return new Map([
      [PAUSED, { ...CLOSED, opened: 1, openUntil: NOW + 1, halfAt: NOW }],
      [`${PAUSED} 1`, { ...CLOSED, opened: 1, openUntil: NOW + 1, halfAt: NOW }],
      [`${RESTING} 1`, { ...CLOSED, heldUntil: NOW + 1 }],
      [`${PARTLY} 1`, { ...CLOSED, opened: 1, openUntil: NOW + 1, halfAt: NOW }],
      ['p rested 1', { ...CLOSED, heldUntil: NOW }],
    ]);
  }
}

/** Attempts to five endpoints, of which one has failed, one is paused and one is so for one of its two webhooks; and a resting one. */
async function aWorker() {
  const gate = new ConcurrencyLimiter<number>({ total: 10, perEndpoint: 4, maxWaitMs: 250 });
  for (const endpoint of [HEALTHY, TROUBLED, PAUSED, PARTLY, UNPROVEN]) gate.offer(1, { endpoint, id: '1' }, NOW);
  gate.offer(1, { endpoint: PARTLY, id: '2' }, NOW);
  gate.release({ endpoint: TROUBLED, id: '1' }, 5, NOW, 'failed');
  const breakers = new Breakers(new Stored(), new ThrottledLog(silent), 15_000);
  await breakers.read();
  const origins = {
    *unproven() {
      yield* [UNPROVEN, PAUSED];
    },
  };
  return { known: { known: () => gate.known() }, breakers, origins };
}

describe('relay_endpoints', () => {
  it('counts each webhook once, and a paused endpoint once for all of its webhooks, by what bars it before how it answers', async () => {
    const { known, breakers, origins } = await aWorker();
    expect(endpointsByState(known, breakers, origins, NOW)).toEqual({
      healthy: 2,
      troubled: 1,
      paused: 2,
      resting: 1,
      unproven: 1,
    });
  });

  it('has every state, also those without an endpoint', async () => {
    const registry = new Registry();
    expect(new EndpointGauge(registry, { known: () => [] }, { *barred() {} }, { *unproven() {} })).toBeDefined();
    const text = await registry.metrics();
    expect(text.split('\n').filter((line) => line.startsWith('relay_endpoints{'))).toEqual([
      'relay_endpoints{state="healthy"} 0',
      'relay_endpoints{state="troubled"} 0',
      'relay_endpoints{state="resting"} 0',
      'relay_endpoints{state="paused"} 0',
      'relay_endpoints{state="unproven"} 0',
    ]);
  });
});
