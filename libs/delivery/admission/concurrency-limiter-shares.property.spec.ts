import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { ConcurrencyLimiter } from './concurrency-limiter.js';
import { fairLimits, type SlotUse } from './concurrency-limits.js';

interface Item {
  readonly number: number;
  readonly key: string;
}

const LIMITS = { total: 16, perEndpoint: 8, maxWaitMs: 250, initial: 4, troubled: 4, spare: 6, perPartner: 8 };
/** A webhook of an endpoint, whose number is behind a slash. */
const at = (key: string) => ({ endpoint: key.split('/ ', 1)[0] ?? key, id: key });
const partnerOf = (key: string): string => key.slice(0, key.indexOf(' '));

const key = fc
  .tuple(fc.constantFrom('p', 'q', 'r'), fc.constantFrom('a', 'b'), fc.constantFrom('1', '2', '3'))
  .map(([partner, origin, id]) => `${partner} https://${origin}/ ${id}`);
const step = fc.oneof(
  { weight: 8, arbitrary: fc.record({ kind: fc.constant('offer' as const), key }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('job' as const), key, isOpen: fc.boolean() }) },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('end' as const),
      pick: fc.nat(100),
      use: fc.constantFrom('succeeded', 'failed', 'unreached'),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('pass' as const), waitMs: fc.nat(700) }) },
);

function check(holds: boolean, fault: string): void {
  if (!holds) throw new Error(fault);
}

/** A limiter beside a plain record of running and waiting deliveries, which checks each start. */
class Watched {
  readonly limiter = new ConcurrencyLimiter<Item>(LIMITS);
  readonly running: { key: string; since: number }[] = [];
  waiting: Item[] = [];
  now = 1_000;
  offered = 0;
  left = 0;

  count(isIts: (key: string) => boolean): number {
    return this.running.filter(({ key: each }) => isIts(each)).length;
  }

  started(itsKey: string): void {
    this.running.push({ key: itsKey, since: this.now });
    const { running, limit, isTroubled, endpoint } = this.limiter.stateOf(at(itsKey));
    const cap = endpoint.cap.value;
    check(running <= limit, 'a webhook has more running than its limit');
    check(endpoint.running - endpoint.troubled <= cap, 'an endpoint has more running than its cap and what hangs');
    const troubled = this.count((each) => this.limiter.stateOf(at(each)).isTroubled);
    const beyond = Math.min(LIMITS.spare, Math.max(0, troubled - LIMITS.troubled));
    check(this.running.length - beyond <= LIMITS.total, 'more runs than the total and what hangs beyond its share');
    check(!isTroubled || this.limiter.runningTroubled <= LIMITS.troubled, 'the troubled have more than their share');
  }

  /** Beside no other that starts now. */
  startedAlone(itsKey: string): void {
    this.started(itsKey);
    const { isTroubled, endpoint } = this.limiter.stateOf(at(itsKey));
    const isBeyond = endpoint.running > endpoint.cap.value;
    check(!isTroubled || !isBeyond, 'a troubled webhook took more than the cap of its endpoint');
  }

  /** Waiting deliveries that start now, one after the other. */
  filled(items: Item[]): void {
    for (const item of items) {
      // Other partners wait for a slot only, so no partner takes more than its share before them.
      const others = this.waiting.filter(
        (each) => partnerOf(each.key) !== partnerOf(item.key) && !items.includes(each) && this.isBelowLimit(each.key),
      );
      const own = this.count((each) => partnerOf(each) === partnerOf(item.key));
      const partnersBelow = others.filter(
        (each) => this.count((other) => partnerOf(other) === partnerOf(each.key)) < LIMITS.perPartner,
      );
      check(partnersBelow.length === 0 || own < LIMITS.perPartner, 'a partner took more than its share before others');
      this.waiting = this.waiting.filter((each) => each !== item);
      this.left += 1;
      this.started(item.key);
    }
  }

  isBelowLimit(itsKey: string): boolean {
    return !this.limiter.stateOf(at(itsKey)).isFull;
  }

  offer(itsKey: string): void {
    this.offered += 1;
    const item = { number: this.offered, key: itsKey };
    if (this.limiter.offer(item, at(itsKey), this.now) === 'run') {
      this.left += 1;
      this.startedAlone(itsKey);
    } else this.waiting.push(item);
  }

  job(itsKey: string, isOpen: boolean): void {
    if (!this.limiter.tryTake(at(itsKey), this.now, isOpen)) {
      check(this.limiter.nextSlotAt(at(itsKey), this.now) >= this.now, 'a job is due in the past');
      return;
    }
    this.startedAlone(itsKey);
    const { open, cap } = this.limiter.stateOf(at(itsKey)).endpoint;
    check(!isOpen || open <= Math.max(1, cap.value >> 2), 'those with open breakers took more than their quarter');
  }

  end(pick: number, use: SlotUse): void {
    const [ended] = this.running.splice(pick % Math.max(1, this.running.length), 1);
    if (ended !== undefined) this.filled(this.limiter.release(at(ended.key), this.now - ended.since, this.now, use));
  }

  pass(waitMs: number): void {
    for (let left = waitMs; left > 0; left -= ConcurrencyLimiter.beatMs) {
      this.now += Math.min(left, ConcurrencyLimiter.beatMs);
      this.filled(this.limiter.tick(this.now));
    }
  }
}

describe('the shares of a limiter', () => {
  it('hold at every start, and every waiting delivery starts in the end', () => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 20, maxLength: 300 }), (steps) => {
        const watched = new Watched();
        for (const next of steps) {
          watched.now += 1;
          if (next.kind === 'offer') watched.offer(next.key);
          else if (next.kind === 'end') watched.end(next.pick, next.use);
          else if (next.kind === 'pass') watched.pass(next.waitMs);
          else watched.job(next.key, next.isOpen);
          const troubled = watched.count((each) => watched.limiter.stateOf(at(each)).isTroubled);
          for (const { key: each } of watched.running) {
            const { running } = watched.limiter.stateOf(at(each)).endpoint;
            expect(running).toBe(watched.count((other) => at(other).endpoint === at(each).endpoint));
          }
          expect([watched.limiter.running, watched.limiter.waiting, watched.limiter.runningTroubled]).toEqual([
            watched.running.length,
            watched.waiting.length,
            troubled,
          ]);
        }
        // Every attempt succeeds from here on: every waiting delivery starts, without an expiry.
        for (let round = 0; watched.limiter.size > 0; round += 1) {
          expect(round).toBeLessThan(5_000);
          watched.now += 1;
          if (watched.running.length > 0) watched.end(0, 'succeeded');
          else watched.pass(1_500);
        }
        expect(watched.left).toBe(watched.offered);
      }),
      { numRuns: 300 },
    );
  });

  it('leave three quarters of the worker to healthy endpoints, however many others hang', () => {
    const limiter = new ConcurrencyLimiter<number>({
      total: 512,
      perEndpoint: 64,
      maxWaitMs: 250,
      troubled: 128,
      perPartner: 256,
    });
    const hanging = Array.from({ length: 100 }, (_, n) => `p${n} https://hanging`);
    for (let round = 0; round < 4; round += 1) for (const each of hanging) limiter.offer(0, at(each), 0);
    for (let now = 0; now <= 1_100; now += ConcurrencyLimiter.beatMs) limiter.tick(now);
    const before = limiter.runningTroubled;
    // No endpoint was known to hang when its attempts began; from now on no attempt starts above the share.
    for (let n = 0; n < 300; n += 1) limiter.release(at(hanging[n % 100] ?? ''), 15_000, 15_000, 'failed');
    for (const each of hanging) limiter.offer(0, at(each), 15_000);
    expect([before, limiter.runningTroubled <= 128]).toEqual([400, true]);
    for (let n = 0; n < 64; n += 1)
      limiter.release(at('healthy'), 1, 15_000 + n * (limiter.offer(0, at('healthy'), 15_000) === 'run' ? 0 : NaN));
  });

  it('take no slot from healthy endpoints for attempts beyond the quarter, once these are found slow', () => {
    const limiter = new ConcurrencyLimiter<number>(fairLimits(512, 64));
    for (let n = 0; n < 64; n += 1)
      for (let round = 0; round < 8; round += 1) limiter.offer(0, at(`p${n} https://new`), 0);
    expect([limiter.running, limiter.offer(1, at('q https://healthy'), 500)]).toEqual([512, 'wait']);
    const started: number[] = [];
    for (let now = 0; now <= 1_100; now += ConcurrencyLimiter.beatMs) started.push(...limiter.tick(now));
    expect([started, limiter.runningTroubled]).toEqual([[1], 512]);
    expect(limiter.tryTake(at('r https://healthy'), 1_200)).toBe(true);
    // As many attempts again hang: then the spare slots are taken.
    for (let n = 0; n < 64; n += 1)
      for (let round = 0; round < 8; round += 1) limiter.offer(0, at(`s${n} https://new`), 1_200);
    for (let now = 1_200; now <= 3_300; now += ConcurrencyLimiter.beatMs) limiter.tick(now);
    for (let n = 0; n < 500; n += 1) limiter.offer(0, at(`t${n} https://new`), 3_300);
    expect([limiter.running <= 1_024, limiter.running > 890]).toEqual([true, true]);
  });

  it('do not shrink because the worker itself stands still', () => {
    const limiter = new ConcurrencyLimiter<number>({ total: 64, perEndpoint: 64, maxWaitMs: 250 });
    let now = 0;
    const beats = (ms: number): void => {
      for (const end = now + ms; now < end; limiter.tick(now)) now += ConcurrencyLimiter.beatMs;
    };
    beats(100);
    for (let n = 0; n < 8; n += 1) limiter.offer(n, at('p https://a'), now);
    now += 5_000; // starved of processor time: no beat, no answer read
    for (let n = 0; n < 4; n += 1) limiter.release(at('p https://a'), 5_000, now);
    limiter.tick(now);
    for (let n = 0; n < 4; n += 1) limiter.release(at('p https://a'), 5_000, now);
    expect(limiter.stateOf(at('p https://a'))).toMatchObject({ isTroubled: false, limit: 8 });
    for (let n = 0; n < 8; n += 1) limiter.offer(n, at('p https://a'), now);
    beats(1_100); // while these 1.1 s are the endpoint's own
    expect(limiter.stateOf(at('p https://a'))).toMatchObject({ isTroubled: true });
  });
});
