import fc from 'fast-check';
import { beginOf, StoreClock } from './store-clock.js';

/** Redis, a host and the steady clock, each with a time of its own. */
class Clocks {
  redis = 1_800_000_000_000;
  host = this.redis;
  steady = 5_000;
  answerMs = 2;
  readonly clock = new StoreClock(
    () => this.host,
    () => this.steady,
  );

  pass(ms: number): void {
    this.redis += ms;
    this.host += ms;
    this.steady += ms;
  }

  look(): Promise<void> {
    return this.clock.look({
      time: async () => {
        this.pass(this.answerMs / 2);
        const shown = this.redis;
        this.pass(this.answerMs / 2);
        return [Math.floor(shown / 1_000), (shown % 1_000) * 1_000];
      },
    });
  }
}

describe('the clock of a process', () => {
  it("is the host's until Redis has answered, which is a fault", () => {
    const all = new Clocks();
    expect(all.clock.now()).toBe(all.host);
    expect(all.clock.fault).toContain('not been read');
  });

  it.each([25, -25, 97, -97, 2])(
    "is Redis' when the host's goes %d h ahead, before it is read again",
    async (hours) => {
      const all = new Clocks();
      await all.look();
      all.host += hours * 3_600_000;
      all.pass(700);
      expect(all.clock.now()).toBe(all.redis);
      expect(all.clock.hostAheadMs).toBe(hours * 3_600_000);
    },
  );

  it('follows Redis to the clock of another server', async () => {
    const all = new Clocks();
    await all.look();
    all.redis -= 12_000;
    await all.look();
    expect(Math.abs(all.clock.now() - all.redis)).toBeLessThanOrEqual(all.answerMs);
  });

  it.each([
    [0, undefined],
    [30_000, undefined],
    [-30_000, undefined],
    [30_001, 'the clock of this host is 30 s ahead of that of Redis'],
    [-90_000, 'the clock of this host is 90 s behind that of Redis'],
  ])('on a host that is %d ms ahead has the fault %s', async (aheadMs, fault) => {
    const all = new Clocks();
    await all.look();
    all.host = all.clock.now() + aheadMs;
    expect(all.clock.fault?.split(':')[0]).toBe(fault);
  });

  it('is shown by Date.now', async () => {
    const all = new Clocks();
    await all.look();
    const before = Date.now;
    all.clock.rule();
    const shown = Date.now();
    Date.now = before;
    expect(shown).toBe(all.redis);
  });

  it('is never further from that of Redis than the quickest answer took, and no slow one moves it beyond', () => {
    const run = fc.check(
      fc.property(fc.array(fc.tuple(fc.nat(3_000), fc.nat(3_000)), { minLength: 1, maxLength: 30 }), (delays) => {
        const began = 1_700_000_000_000;
        let [begin, at, quickest]: [number | undefined, number, number] = [undefined, 0, Infinity];
        for (const [out, back] of delays) {
          const answer = { askedAt: at, answeredAt: at + out + back, shown: began + at + out };
          begin = beginOf(begin, answer);
          at += out + back + 1_000;
          quickest = Math.min(quickest, out + back);
        }
        return Math.abs((begin ?? 0) - began) <= quickest;
      }),
    );
    expect(run).toMatchObject({ failed: false });
  });
});
