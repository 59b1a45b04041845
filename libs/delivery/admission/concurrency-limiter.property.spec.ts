import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { ConcurrencyLimiter } from './concurrency-limiter.js';
import type { ConcurrencyLimits } from './concurrency-limits.js';

interface Item {
  readonly number: number;
  readonly endpoint: string;
  readonly since: number;
}

/** The rules of the limiter in plain form: every step scans everything. */
class PlainLimiter {
  readonly running: string[] = [];
  waiting: Item[] = [];
  readonly #fullSince = new Map<string, number>();

  constructor(readonly limits: ConcurrencyLimits) {}

  isFull(endpoint: string): boolean {
    return this.running.filter((each) => each === endpoint).length >= this.limits.perEndpoint;
  }

  take(endpoint: string, now: number): boolean {
    if (this.running.length >= this.limits.total || this.isFull(endpoint)) return false;
    this.running.push(endpoint);
    if (this.isFull(endpoint) && !this.#fullSince.has(endpoint)) this.#fullSince.set(endpoint, now);
    return true;
  }

  release(endpoint: string, now: number): Item[] {
    this.running.splice(this.running.indexOf(endpoint), 1);
    const started: Item[] = [];
    for (const item of this.waiting) if (this.take(item.endpoint, now)) started.push(item);
    this.waiting = this.waiting.filter((item) => !started.includes(item));
    if (!this.isFull(endpoint)) this.#fullSince.delete(endpoint);
    return started;
  }

  expiryOf({ endpoint, since }: Item): number {
    const fullSince = this.#fullSince.get(endpoint);
    return fullSince === undefined ? Infinity : Math.max(since, fullSince) + this.limits.maxWaitMs;
  }

  expire(now: number): Item[] {
    const expired = this.waiting.filter((item) => this.expiryOf(item) <= now);
    this.waiting = this.waiting.filter((item) => !expired.includes(item));
    return expired;
  }
}

const limits = fc.record({
  total: fc.integer({ min: 1, max: 12 }),
  perEndpoint: fc.integer({ min: 1, max: 4 }),
  maxWaitMs: fc.constantFrom(1, 50, 250),
});
const endpoint = fc.constantFrom('a', 'b', 'c', 'd', 'e');
/** The only webhook of an endpoint. */
const at = (key: string) => ({ endpoint: key, id: key });
const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('offer' as const), endpoint }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('try take' as const), endpoint }) },
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('release' as const), pick: fc.nat(100) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('expire' as const), waitMs: fc.nat(200) }) },
);

describe('ConcurrencyLimiter', () => {
  it('agrees with its rules through random histories, and loses nothing', () => {
    fc.assert(
      fc.property(limits, fc.array(step, { minLength: 20, maxLength: 250 }), (bounds, steps) => {
        const limiter = new ConcurrencyLimiter<Item>(bounds);
        const plain = new PlainLimiter(bounds);
        const left = new Map<Item, number>();
        const lastStarted = new Map<string, number>();
        const answers: [answer: unknown, expected: unknown][] = [];
        let offered = 0;
        let now = 1_000;

        const leave = (item: Item) => left.set(item, (left.get(item) ?? 0) + 1);
        const start = (item: Item) => {
          leave(item);
          expect(item.number).toBeGreaterThan(lastStarted.get(item.endpoint) ?? 0);
          lastStarted.set(item.endpoint, item.number);
        };
        const due = (time: number) => expect(time).toBeGreaterThan(now);
        const release = (key: string) => {
          const started = limiter.release(at(key), 20, now);
          expect(started).toEqual(plain.release(key, now));
          started.forEach(start);
        };
        const expire = () => {
          const expired = limiter.expire(now);
          const items = expired.map(({ item }) => item).toSorted((a, b) => a.number - b.number);
          expect(items).toEqual(plain.expire(now));
          for (const each of expired) {
            leave(each.item);
            due(each.at);
          }
          expect(limiter.nextExpiry ?? Infinity).toBeGreaterThan(now);
        };

        for (const next of steps) {
          now += 1;
          if (next.kind === 'offer') {
            offered += 1;
            const item = { number: offered, endpoint: next.endpoint, since: now };
            const runs = plain.take(item.endpoint, now);
            answers.push([limiter.offer(item, at(item.endpoint), now), runs ? 'run' : 'wait']);
            if (runs) start(item);
            else plain.waiting.push(item);
          } else if (next.kind === 'try take') {
            const taken = limiter.tryTake(at(next.endpoint), now);
            answers.push([taken, plain.take(next.endpoint, now)]);
            if (!taken) due(limiter.nextSlotAt(at(next.endpoint), now));
          } else if (next.kind === 'release') {
            const key = plain.running[next.pick % Math.max(1, plain.running.length)];
            if (key !== undefined) release(key);
          } else {
            now += next.waitMs;
            expire();
          }

          expect([limiter.running, limiter.waiting]).toEqual([plain.running.length, plain.waiting.length]);
          expect(limiter.running).toBeLessThanOrEqual(bounds.total);
          // No delivery waits beside a free slot unless its endpoint is full.
          const mayRun =
            limiter.running < bounds.total ? plain.waiting.filter((item) => !plain.isFull(item.endpoint)) : [];
          expect(mayRun).toEqual([]);
          // No expiry comes before the announced time.
          const first = Math.min(Infinity, ...plain.waiting.map((item) => plain.expiryOf(item)));
          expect(limiter.nextExpiry ?? Infinity).toBeLessThanOrEqual(first);
        }

        while (plain.running[0] !== undefined) release(plain.running[0]);
        expect([limiter.size, left.size]).toEqual([0, offered]);
        for (const [answer, expected] of answers) expect(answer).toBe(expected);
        expect([...left.values()].every((times) => times === 1)).toBe(true);
        for (const hour of [1, 2, 3]) {
          now = hour * 3_600_000;
          expire();
          expect(limiter.tick(now)).toEqual([]);
        }
        expect(limiter.endpoints).toBe(0);
      }),
      { numRuns: 200 },
    );
  });

  it('never runs more than the limit at one endpoint', () => {
    fc.assert(
      fc.property(limits, fc.array(fc.tuple(endpoint, fc.boolean()), { maxLength: 200 }), (bounds, steps) => {
        const limiter = new ConcurrencyLimiter<string>(bounds);
        const running = new Map<string, number>();
        const count = (key: string, by: number) => running.set(key, (running.get(key) ?? 0) + by);
        for (const [key, isOffer] of steps) {
          if (isOffer) {
            if (limiter.offer(key, at(key), 0) === 'run') count(key, 1);
          } else if ((running.get(key) ?? 0) > 0) {
            count(key, -1);
            for (const started of limiter.release(at(key), 5, 0)) count(started, 1);
          }
          expect(Math.max(0, ...running.values())).toBeLessThanOrEqual(bounds.perEndpoint);
        }
      }),
    );
  });

  it('starts deliveries to other endpoints at once, however many wait for full ones', () => {
    const items = fc.array(fc.constantFrom('full 1', 'full 2'), { minLength: 10, maxLength: 200 });
    fc.assert(
      fc.property(items, fc.array(fc.constantFrom('x', 'y', 'z'), { maxLength: 6 }), (toFull, toOthers) => {
        const limiter = new ConcurrencyLimiter<number>({ total: 10, perEndpoint: 2, maxWaitMs: 250 });
        for (const [index, key] of toFull.entries()) limiter.offer(index, at(key), 0);
        for (const key of toOthers) {
          expect(limiter.offer(0, at(key), 1)).toBe('run');
          limiter.release(at(key), 1, 1);
        }
      }),
    );
  });

  it('stays cheap with 10,000 endpoints waiting', () => {
    const limiter = new ConcurrencyLimiter<number>({ total: 20_000, perEndpoint: 2, maxWaitMs: 250 });
    const keys = Array.from({ length: 10_000 }, (_, i) => at(`endpoint ${i}`));
    for (let round = 0; round < 4; round += 1) for (const key of keys) limiter.offer(round, key, 0);
    const before = process.cpuUsage();
    let started = 0;
    for (let round = 0; round < 2; round += 1) for (const key of keys) started += limiter.release(key, 5, 10).length;
    const expired = limiter.expire(10_000).length;
    const { user } = process.cpuUsage(before);
    expect([started, expired, limiter.running]).toEqual([20_000, 0, 20_000]);
    // About 20 ms here; a scan of the endpoints at each release takes many seconds. Processor time, whatever else runs.
    expect(user / 1_000).toBeLessThan(1_000);
  });
});
