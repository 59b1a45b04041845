import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { Gate } from './concurrency-limiter.js';
import { fairLimits } from './concurrency-limits.js';

interface Item {
  readonly number: number;
  readonly key: string;
}

const LIMITS = { total: 16, perEndpoint: 8, maxWaitMs: 250, first: 4, troubled: 4, spare: 6, perPartner: 8 };
const partnerOf = (key: string): string => key.slice(0, key.indexOf(' '));

const key = fc
  .tuple(fc.constantFrom('p', 'q', 'r'), fc.constantFrom('a', 'b', 'c'))
  .map(([partner, origin]) => `${partner} https://${origin}`);
const step = fc.oneof(
  { weight: 8, arbitrary: fc.record({ kind: fc.constant('offer' as const), key }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('job' as const), key }) },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('end' as const), pick: fc.nat(100), failed: fc.boolean() }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('pass' as const), waitMs: fc.nat(700) }) },
);

function check(holds: boolean, fault: string): void {
  if (!holds) throw new Error(fault);
}

/** A gate beside a plain record of what runs and waits, which checks each start. */
class Watched {
  readonly gate = new Gate<Item>(LIMITS);
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
    const { running, cap, isTroubled } = this.gate.stateOf(itsKey);
    check(running <= cap, 'an endpoint has more running than its cap');
    const troubled = this.count((each) => this.gate.stateOf(each).isTroubled);
    const beyond = Math.min(LIMITS.spare, Math.max(0, troubled - LIMITS.troubled));
    check(this.running.length - beyond <= LIMITS.total, 'more runs than the total and what hangs beyond its share');
    check(!isTroubled || this.gate.runningTroubled <= LIMITS.troubled, 'the troubled have more than their share');
  }

  /** What waited and starts now, one after the other. */
  filled(items: Item[]): void {
    for (const item of items) {
      // Others wait for nothing but a slot, so no partner takes more than its share before them.
      const others = this.waiting.filter(
        (each) => partnerOf(each.key) !== partnerOf(item.key) && !items.includes(each) && this.isBelowCap(each.key),
      );
      const held = this.count((each) => partnerOf(each) === partnerOf(item.key));
      const partnersBelow = others.filter(
        (each) => this.count((other) => partnerOf(other) === partnerOf(each.key)) < LIMITS.perPartner,
      );
      check(partnersBelow.length === 0 || held < LIMITS.perPartner, 'a partner took more than its share before others');
      this.waiting = this.waiting.filter((each) => each !== item);
      this.left += 1;
      this.started(item.key);
    }
  }

  isBelowCap(itsKey: string): boolean {
    const { running, cap, isTroubled } = this.gate.stateOf(itsKey);
    return running < cap && !(isTroubled && this.gate.runningTroubled >= LIMITS.troubled);
  }

  offer(itsKey: string): void {
    this.offered += 1;
    const item = { number: this.offered, key: itsKey };
    if (this.gate.offer(item, itsKey, this.now) === 'run') {
      this.left += 1;
      this.started(itsKey);
    } else this.waiting.push(item);
  }

  end(pick: number, failed: boolean): void {
    const [ended] = this.running.splice(pick % Math.max(1, this.running.length), 1);
    if (ended !== undefined)
      this.filled(this.gate.release(ended.key, this.now - ended.since, this.now, failed ? 'failed' : 'succeeded'));
  }

  pass(waitMs: number): void {
    for (let left = waitMs; left > 0; left -= Gate.beatMs) {
      this.now += Math.min(left, Gate.beatMs);
      this.filled(this.gate.tick(this.now));
    }
  }
}

describe('the shares of a gate', () => {
  it('are kept at every start, and nothing that waits is left behind', () => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 20, maxLength: 300 }), (steps) => {
        const watched = new Watched();
        for (const next of steps) {
          watched.now += 1;
          if (next.kind === 'offer') watched.offer(next.key);
          else if (next.kind === 'end') watched.end(next.pick, next.failed);
          else if (next.kind === 'pass') watched.pass(next.waitMs);
          else if (watched.gate.tryTake(next.key, watched.now)) watched.started(next.key);
          const troubled = watched.count((each) => watched.gate.stateOf(each).isTroubled);
          expect([watched.gate.running, watched.gate.waiting, watched.gate.runningTroubled]).toEqual([
            watched.running.length,
            watched.waiting.length,
            troubled,
          ]);
        }
        // Everything ends well from here on: all that waits has its turn, without an expiry.
        for (let round = 0; watched.gate.size > 0; round += 1) {
          expect(round).toBeLessThan(5_000);
          watched.now += 1;
          if (watched.running.length > 0) watched.end(0, false);
          else watched.pass(1_500);
        }
        expect(watched.left).toBe(watched.offered);
      }),
      { numRuns: 300 },
    );
  });

  it('leave three quarters of the worker to the others, however many endpoints hang', () => {
    const gate = new Gate<number>({ total: 512, perEndpoint: 64, maxWaitMs: 250, troubled: 128, perPartner: 256 });
    const hanging = Array.from({ length: 100 }, (_, n) => `p${n} https://hanging`);
    for (let round = 0; round < 4; round += 1) for (const each of hanging) gate.offer(0, each, 0);
    for (let now = 0; now <= 1_100; now += Gate.beatMs) gate.tick(now);
    const before = gate.runningTroubled;
    // They were not known to hang when they began; from now on nothing more of them starts above the share.
    for (let n = 0; n < 300; n += 1) gate.release(hanging[n % 100] ?? '', 15_000, 15_000, 'failed');
    for (const each of hanging) gate.offer(0, each, 15_000);
    expect([before, gate.runningTroubled <= 128]).toEqual([400, true]);
    for (let n = 0; n < 64; n += 1)
      gate.release('healthy', 1, 15_000 + n * (gate.offer(0, 'healthy', 15_000) === 'run' ? 0 : NaN));
  });

  it('have whatever hangs beyond its quarter take nothing from the others, once it is found slow', () => {
    const gate = new Gate<number>(fairLimits(512, 64));
    for (let n = 0; n < 64; n += 1) for (let round = 0; round < 8; round += 1) gate.offer(0, `p${n} https://new`, 0);
    expect([gate.running, gate.offer(1, 'q https://healthy', 500)]).toEqual([512, 'wait']);
    const started: number[] = [];
    for (let now = 0; now <= 1_100; now += Gate.beatMs) started.push(...gate.tick(now));
    expect([started, gate.runningTroubled]).toEqual([[1], 512]);
    expect(gate.tryTake('r https://healthy', 1_200)).toBe(true);
    // As many again hang: then there is an end to it.
    for (let n = 0; n < 64; n += 1)
      for (let round = 0; round < 8; round += 1) gate.offer(0, `s${n} https://new`, 1_200);
    for (let now = 1_200; now <= 3_300; now += Gate.beatMs) gate.tick(now);
    for (let n = 0; n < 500; n += 1) gate.offer(0, `t${n} https://new`, 3_300);
    expect([gate.running <= 1_024, gate.running > 890]).toEqual([true, true]);
  });

  it('do not shrink because we ourselves stand still', () => {
    const gate = new Gate<number>({ total: 64, perEndpoint: 64, maxWaitMs: 250 });
    let now = 0;
    const beats = (ms: number): void => {
      for (const end = now + ms; now < end; gate.tick(now)) now += Gate.beatMs;
    };
    beats(100);
    for (let n = 0; n < 8; n += 1) gate.offer(n, 'p https://a', now);
    now += 5_000; // starved of processor time: no beat, no answer read
    for (let n = 0; n < 4; n += 1) gate.release('p https://a', 5_000, now);
    gate.tick(now);
    for (let n = 0; n < 4; n += 1) gate.release('p https://a', 5_000, now);
    expect(gate.stateOf('p https://a')).toMatchObject({ isTroubled: false, cap: 8 });
    for (let n = 0; n < 8; n += 1) gate.offer(n, 'p https://a', now);
    beats(1_100); // while these 1.1 s are the endpoint's own
    expect(gate.stateOf('p https://a')).toMatchObject({ isTroubled: true });
  });
});
