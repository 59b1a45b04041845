import { Gate } from './concurrency-limiter.js';

const limits = { total: 4, perEndpoint: 4, maxWaitMs: 250, perPartner: 2 };

/** A gate to which these were offered in order; an item is the key it was offered with. */
function aGate(...keys: string[]): Gate<string> {
  const gate = new Gate<string>(limits);
  for (const key of keys) gate.offer(key, key, 0);
  return gate;
}

describe('the share of a partner', () => {
  it('is the whole worker while nobody else waits', () => {
    const gate = aGate('p a', 'p a', 'p b', 'p b', 'p c');
    expect(gate.running).toBe(4);
    expect(gate.release('p a', 1, 1)).toEqual(['p c']);
  });

  it('is half of it when others wait, however long its own have waited', () => {
    const gate = aGate('p a', 'p a', 'p b', 'p b', 'p c', 'p d', 'q a', 'r a');
    expect(gate.release('p a', 1, 1)).toEqual(['q a']);
    expect(gate.release('p a', 1, 1)).toEqual(['r a']);
    expect(gate.release('p b', 1, 1)).toEqual(['p c']);
  });

  it('counts from the moment at which a slot comes free, not from that at which a delivery began to wait', () => {
    const gate = aGate('q a', 'q a', 'q a', 'p a', 'p b', 'p c', 'r a');
    expect(gate.release('q a', 1, 1)).toEqual(['p b']);
    expect(gate.release('q a', 1, 1)).toEqual(['r a']);
    expect(gate.release('q a', 1, 1)).toEqual(['p c']);
  });

  it('binds none of what waits any more once the partner holds less', () => {
    const gate = aGate('p a', 'p b', 'q a', 'q a', 'r a', 'r b', 'p c', 'p d', 's a', 's b');
    const started = ['p a', 'p b', 'q a', 'q a'].flatMap((key) => gate.release(key, 1, 1));
    expect(started).toEqual(['r a', 'r b', 'p c', 'p d']);
  });

  it('leaves a slot free for a queued job of another that found none', () => {
    const gate = aGate('p a', 'p a', 'p b', 'p b', 'p c', 'p c');
    expect(gate.tryTake('q a', 0)).toBe(false);
    expect(gate.release('p a', 1, 500)).toEqual([]);
    expect(gate.tryTake('q a', 600)).toBe(true);
    // A second after it was refused what waits takes all that is free.
    expect(gate.release('p a', 1, 700)).toEqual([]);
    expect(gate.release('q a', 1, 1_000)).toEqual(['p c', 'p c']);
  });
});
