import { ConcurrencyLimiter } from './concurrency-limiter.js';

const limits = { total: 4, perEndpoint: 4, maxWaitMs: 250, perPartner: 2 };

/** The only webhook of an endpoint. */
const at = (key: string) => ({ endpoint: key, id: key });

/** A limiter to which these were offered in order; an item is the key it was offered with. */
function aLimiter(...keys: string[]): ConcurrencyLimiter<string> {
  const limiter = new ConcurrencyLimiter<string>(limits);
  for (const key of keys) limiter.offer(key, at(key), 0);
  return limiter;
}

describe('the share of a partner', () => {
  it('is the whole worker while no other partner waits', () => {
    const limiter = aLimiter('p a', 'p a', 'p b', 'p b', 'p c');
    expect(limiter.running).toBe(4);
    expect(limiter.release(at('p a'), 1, 1)).toEqual(['p c']);
  });

  it('is half of the worker while other partners wait, however long its own deliveries have waited', () => {
    const limiter = aLimiter('p a', 'p a', 'p b', 'p b', 'p c', 'p d', 'q a', 'r a');
    expect(limiter.release(at('p a'), 1, 1)).toEqual(['q a']);
    expect(limiter.release(at('p a'), 1, 1)).toEqual(['r a']);
    expect(limiter.release(at('p b'), 1, 1)).toEqual(['p c']);
  });

  it('applies when a slot comes free, not when a delivery begins to wait', () => {
    const limiter = aLimiter('q a', 'q a', 'q a', 'p a', 'p b', 'p c', 'r a');
    expect(limiter.release(at('q a'), 1, 1)).toEqual(['p b']);
    expect(limiter.release(at('q a'), 1, 1)).toEqual(['r a']);
    expect(limiter.release(at('q a'), 1, 1)).toEqual(['p c']);
  });

  it('stops binding waiting deliveries once the partner holds less', () => {
    const limiter = aLimiter('p a', 'p b', 'q a', 'q a', 'r a', 'r b', 'p c', 'p d', 's a', 's b');
    const started = ['p a', 'p b', 'q a', 'q a'].flatMap((key) => limiter.release(at(key), 1, 1));
    expect(started).toEqual(['r a', 'r b', 'p c', 'p d']);
  });

  it('leaves a slot free for a refused job of another partner', () => {
    const limiter = aLimiter('p a', 'p a', 'p b', 'p b', 'p c', 'p c');
    expect(limiter.tryTake(at('q a'), 0)).toBe(false);
    expect(limiter.release(at('p a'), 1, 500)).toEqual([]);
    expect(limiter.tryTake(at('q a'), 600)).toBe(true);
    // A second after it was refused what waits takes all that is free.
    expect(limiter.release(at('p a'), 1, 700)).toEqual([]);
    expect(limiter.release(at('q a'), 1, 1_000)).toEqual(['p c', 'p c']);
  });
});
