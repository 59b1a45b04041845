import { Breaker, BreakerStore, CLOSED, isForgettable } from '@relay/breaker';
import { ThrottledLog, type Log } from '@relay/telemetry';
import { Breakers, NO_PROBE, type BreakerKeys, type BreakerOutcome } from './breakers.js';

const FAILED: BreakerOutcome = { failed: true, reach: 'answered', durationMs: 5, notBefore: undefined };
const DELIVERED: BreakerOutcome = { ...FAILED, failed: false };
const UNREACHED: BreakerOutcome = { ...FAILED, reach: 'unreached' };
const SILENT: BreakerOutcome = { ...FAILED, reach: 'silent', durationMs: 15_000 };
const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} } as unknown as Log;

/** What workers share, in memory; counts what it is asked. */
class SharedBreakers extends BreakerStore {
  readonly stored = new Map<string, Breaker>();
  calls = 0;
  isAway = false;

  async change(key: string, now: number, change: (breaker: Breaker) => Breaker | undefined) {
    this.#call();
    const next = change(this.stored.get(key) ?? CLOSED);
    if (next === undefined) return { breaker: this.stored.get(key) ?? CLOSED, isChanged: false };
    if (isForgettable(next, now)) this.stored.delete(key);
    else this.stored.set(key, next);
    return { breaker: next, isChanged: true };
  }

  async all(): Promise<ReadonlyMap<string, Breaker>> {
    this.#call();
    return new Map(this.stored);
  }

  #call(): void {
    this.calls += 1;
    if (this.isAway) throw new Error('away');
  }
}

const ENDPOINT = 'p https://a.example';
const [E1, SIBLING] = ['1', '2'].map((id) => ({ endpoint: ENDPOINT, breakerKey: `${ENDPOINT} ${id}` })) as [
  BreakerKeys,
  BreakerKeys,
];
const ELSEWHERE: BreakerKeys = { endpoint: 'another https://a.example', breakerKey: 'another https://a.example 1' };
const OF_WEBHOOK = { ofWebhook: true, ofEndpoint: false };

describe('Breakers', () => {
  let store: SharedBreakers;
  let one: Breakers;
  let two: Breakers;
  beforeEach(() => {
    store = new SharedBreakers();
    [one, two] = [0, 1].map(() => new Breakers(store, new ThrottledLog(silent), 15_000)) as [Breakers, Breakers];
  });
  const now = (): number => Date.now();
  const fail = (breakers: Breakers, times: number): void => {
    for (let n = 0; n < times; n += 1) breakers.ended(E1, FAILED, now());
  };

  it('cost the store nothing for an endpoint that never fails', async () => {
    const answers = new Set<number | undefined>();
    for (let n = 0; n < 10_000; n += 1) {
      answers.add(one.lookAgainAt(E1, now()));
      one.ended(E1, DELIVERED, now());
    }
    expect(answers).toEqual(new Set([undefined]));
    expect(await one.enter(E1)).toEqual({ mayGo: true, probe: NO_PROBE });
    await one.report();
    expect(store.calls).toBe(0);
  });

  it('open at the tenth failure in a row, without waiting for the next report', async () => {
    fail(one, 9);
    await new Promise(setImmediate);
    expect(one.lookAgainAt(E1, now())).toBeUndefined();
    fail(one, 1);
    await new Promise(setImmediate);
    expect(one.lookAgainAt(E1, now())).toBeGreaterThan(now() + 29_000);
  });

  it('open for all workers by the failures of all of them', async () => {
    fail(one, 5);
    fail(two, 5);
    await one.report();
    expect(two.lookAgainAt(E1, now())).toBeUndefined();
    await two.report();
    await one.read();
    for (const worker of [one, two]) expect(worker.lookAgainAt(E1, now())).toBeGreaterThan(now() + 29_000);
  });

  it('have a thousand deliveries come once each, the first at the end of the opening, the others spread over the next', async () => {
    fail(one, 10);
    await one.report();
    const calls = store.calls;
    const { openUntil = 0 } = store.stored.get(E1.breakerKey) ?? {};
    const looks = Array.from({ length: 1_000 }, () => one.lookAgainAt(E1, now()) ?? 0);
    expect(looks[0]).toBe(openUntil);
    expect(Math.max(...looks)).toBeLessThanOrEqual(openUntil + 30_000);
    const busiest = Array.from({ length: 30 }, (_, s) =>
      looks.filter((at) => Math.floor((at - openUntil) / 1_000) === s),
    );
    expect(Math.max(...busiest.map(({ length }) => length))).toBeLessThan(40);
    expect(store.calls).toBe(calls);
  });

  it('let one worker probe, close by its success and open for longer by its failure', async () => {
    const halfOpen = { ...CLOSED, opened: 1, openUntil: now() - 1 };
    store.stored.set(E1.breakerKey, halfOpen);
    await Promise.all([one.read(), two.read()]);
    expect(await one.enter(E1)).toEqual({ mayGo: true, probe: OF_WEBHOOK });
    expect(await two.enter(E1)).toMatchObject({ mayGo: false });
    await one.probed(E1, FAILED, OF_WEBHOOK, now());
    expect(store.stored.get(E1.breakerKey)).toMatchObject({ opened: 2 });
    store.stored.set(E1.breakerKey, halfOpen);
    await two.read();
    expect(await two.enter(E1)).toEqual({ mayGo: true, probe: OF_WEBHOOK });
    await two.probed(E1, DELIVERED, OF_WEBHOOK, now());
    await one.read();
    expect(await one.enter(E1)).toEqual({ mayGo: true, probe: NO_PROBE });
  });

  it('let attempts go on at once when another worker has closed them meanwhile', async () => {
    store.stored.set(E1.breakerKey, { ...CLOSED, opened: 1, openUntil: now() - 1 });
    await one.read();
    store.stored.delete(E1.breakerKey);
    expect(await one.enter(E1)).toEqual({ mayGo: true, probe: NO_PROBE });
  });

  it('hold a webhook that asks for rest at once here, and for other workers with the next report', async () => {
    const until = now() + 60_000;
    one.ended(E1, { ...FAILED, notBefore: until }, now());
    expect(one.lookAgainAt(E1, now())).toBe(until);
    await one.read(); // brings what the store has, which is nothing yet
    expect(one.lookAgainAt(E1, now())).toBeGreaterThanOrEqual(until);
    await one.report();
    await two.read();
    expect(two.lookAgainAt(E1, now())).toBeGreaterThanOrEqual(until);
    expect(two.lookAgainAt(ELSEWHERE, now())).toBeUndefined();
  });

  it('hold it while that is being reported, although the store does not know it yet', async () => {
    let letStore = (): void => undefined;
    const isStored = new Promise<void>((resolve) => (letStore = resolve));
    const change = store.change.bind(store);
    store.change = async (...args) => {
      await isStored;
      return change(...args);
    };
    one.ended(E1, { ...FAILED, notBefore: now() + 4_000 }, now());
    const reporting = one.report();
    await one.read();
    expect(one.isBarred(E1, now())).toBe(true);
    letStore();
    await reporting;
    expect(one.isBarred(E1, now())).toBe(true);
    await two.read();
    expect(two.isBarred(E1, now())).toBe(true);
    expect(two.isBarred(E1, now() + 4_000)).toBe(false);
  });

  it('hold it when the tenth failure in a row, which is reported at once, asks for rest', async () => {
    fail(one, 9);
    one.ended(E1, { ...FAILED, notBefore: now() + 3_600_000 }, now());
    await one.report();
    for (const breakers of [one, two]) {
      await breakers.read();
      expect(breakers.restsUntil(E1, now() + 60_000)).toBeGreaterThanOrEqual(now() + 3_500_000);
    }
  });

  it('let a delivery without a slot through when a probe is due', async () => {
    fail(one, 10);
    await one.report();
    expect(one.restsUntil(E1, now() + 29_000)).toBeGreaterThan(now() + 29_000);
    expect(one.restsUntil(E1, now() + 31_000)).toBeUndefined();
    expect(one.restsUntil(ELSEWHERE, now())).toBeUndefined();
  });

  it('spread the deliveries that a short rest held back over as long again, and not longer', async () => {
    const until = now() + 1_000;
    one.ended(E1, { ...FAILED, notBefore: until }, now());
    const looks = Array.from({ length: 100 }, () => one.lookAgainAt(E1, now()) ?? 0);
    expect(Math.min(...looks)).toBe(until);
    expect(Math.max(...looks)).toBeLessThanOrEqual(until + 1_000);
    expect(new Set(looks).size).toBeGreaterThan(50);
  });

  it('report later what the store does not take', async () => {
    store.isAway = true;
    fail(one, 6);
    await one.report();
    fail(one, 4);
    await one.report();
    store.isAway = false;
    await one.report();
    expect(store.stored.get(E1.breakerKey)).toMatchObject({ opened: 1 });
  });

  describe('for a path that fails beside another path of the same endpoint', () => {
    const isBarred = async (keys: BreakerKeys): Promise<boolean> => {
      await one.report();
      await two.read();
      expect(one.isBarred(keys, now())).toBe(two.isBarred(keys, now()));
      return one.isBarred(keys, now());
    };
    const end = (keys: BreakerKeys, outcome: BreakerOutcome, times = 10): void => {
      for (let n = 0; n < times; n += 1) one.ended(keys, outcome, now());
    };

    it.each([
      ['a failure', FAILED],
      ['a failure with Retry-After', { ...FAILED, notBefore: Date.now() + 60_000 }],
      ['silence', SILENT],
    ])('bar that path alone where the answer is %s', async (_, outcome) => {
      end(E1, outcome, 40);
      expect([await isBarred(E1), await isBarred(SIBLING)]).toEqual([true, false]);
      end(SIBLING, DELIVERED, 1);
      end(E1, outcome, 40);
      expect(await isBarred(SIBLING)).toBe(false);
    });

    it('bar both when there is no connection', async () => {
      end(E1, UNREACHED);
      expect([await isBarred(E1), await isBarred(SIBLING)]).toEqual([true, true]);
    });

    it('bar both when both are silent, and none of their siblings has answered since those attempts began', async () => {
      end(SIBLING, SILENT, 1);
      end(E1, SILENT, 10);
      expect([await isBarred(E1), await isBarred(SIBLING)]).toEqual([true, true]);
    });

    it('do not count silence for the origin that answered meanwhile, even a failure', async () => {
      end(SIBLING, FAILED, 1);
      end(E1, SILENT, 9);
      end(SIBLING, SILENT, 9);
      expect(await isBarred({ endpoint: ENDPOINT, breakerKey: 'a third' })).toBe(false);
    });

    it('say for the limits of the origin which failure is its own', () => {
      expect([FAILED, SILENT, UNREACHED].map((outcome) => one.ended(E1, outcome, now()))).toEqual([false, false, true]);
    });

    it('let the sibling make the probe of the endpoint while the path itself waits for its own', async () => {
      store.stored.set(ENDPOINT, { ...CLOSED, opened: 1, openUntil: now() - 1 });
      store.stored.set(E1.breakerKey, { ...CLOSED, opened: 2, openUntil: now() + 60_000 });
      await one.read();
      expect(await one.enter(E1)).toMatchObject({ mayGo: false });
      const probe = { ofWebhook: false, ofEndpoint: true };
      expect(await one.enter(SIBLING)).toEqual({ mayGo: true, probe });
      expect(await one.enter(SIBLING)).toMatchObject({ mayGo: false });
      await one.probed(SIBLING, DELIVERED, probe, now());
      expect([await isBarred(E1), await isBarred(SIBLING)]).toEqual([true, false]);
    });

    it('give a claim back where the other breaker lets nothing through, or no attempt is made', async () => {
      const halfOpen = { ...CLOSED, opened: 1, openUntil: now() - 1 };
      store.stored.set(E1.breakerKey, halfOpen);
      store.stored.set(ENDPOINT, { ...halfOpen, probeUntil: now() + 20_000 });
      await one.read();
      expect(await one.enter(E1)).toMatchObject({ mayGo: false });
      expect(store.stored.get(E1.breakerKey)).toEqual(halfOpen);
      store.stored.set(ENDPOINT, halfOpen);
      await one.read();
      const probe = { ofWebhook: true, ofEndpoint: true };
      expect(await one.enter(E1)).toEqual({ mayGo: true, probe });
      await one.unclaim(E1, probe, now());
      expect([...store.stored.values()]).toEqual([halfOpen, halfOpen]);
    });

    it('close the endpoint by a connection, so that a silent path keeps no sibling waiting', async () => {
      const probe = { ofWebhook: true, ofEndpoint: true };
      const openUntil = now() - 1;
      for (const [outcome, isClosed] of [
        [UNREACHED, false],
        [SILENT, true],
        [FAILED, true],
      ] as const) {
        for (const key of [ENDPOINT, E1.breakerKey]) store.stored.set(key, { ...CLOSED, opened: 1, openUntil });
        await one.probed(E1, outcome, probe, now());
        expect(store.stored.get(E1.breakerKey)).toMatchObject({ opened: 2 });
        expect(store.stored.has(ENDPOINT)).toBe(!isClosed);
      }
    });
  });
});
