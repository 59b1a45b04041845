import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { Backlog } from './slot-schedule.js';

const NOW = 1_000_000;

/** All slots taken just now, after attempts that took this long each. */
const aBusy = (...durationsMs: number[]) => {
  const backlog = new Backlog();
  for (const durationMs of durationsMs) backlog.giveBack(durationMs, NOW);
  backlog.take(NOW);
  return backlog;
};

describe('Backlog', () => {
  it('spaces reservations by latency over slots', () => {
    const backlog = aBusy(3_200);
    expect([1, 2, 3].map(() => backlog.reserve(64, NOW))).toEqual([NOW + 50, NOW + 100, NOW + 150]);
  });

  it('takes a fifth of a second for the latency before anything ended', () => {
    expect(aBusy().reserve(10, NOW)).toBe(NOW + 20);
  });

  it('has nobody wait behind times that were reserved while slots came free more slowly', () => {
    const backlog = aBusy(1_000);
    for (let job = 0; job < 50; job += 1) backlog.reserve(1, NOW);
    expect(backlog.reserve(50, NOW)).toBe(NOW + 1_020);
  });

  it('serves everybody in turn who came back too early because a slot takes longer than was guessed', () => {
    const backlog = aBusy();
    const slots = 8;
    const looks = Array.from({ length: 92 }, () => backlog.reserve(slots, NOW));
    backlog.giveBack(3_000, NOW);
    const again = looks.map((at) => {
      backlog.take(at);
      return backlog.reserve(slots, at);
    });
    expect(again[0]).toBeLessThan(NOW + 3_000);
    expect(Math.max(...again)).toBeLessThan(NOW + 40_000);
  });

  it('follows the latency as it changes', () => {
    expect(aBusy(1_000, ...Array<number>(100).fill(100)).reserve(1, NOW)).toBeLessThan(NOW + 105);
    expect(aBusy(100, ...Array<number>(100).fill(1_000)).reserve(1, NOW)).toBeGreaterThan(NOW + 995);
  });

  it('takes a fast endpoint for slow as soon as nothing ends any more', () => {
    const backlog = aBusy(5);
    expect(backlog.reserve(64, NOW + 6_400)).toBe(NOW + 6_500);
  });

  it('starts from now again when what was reserved has passed', () => {
    const backlog = aBusy(1_000);
    backlog.reserve(10, NOW);
    backlog.take(NOW + 5_000);
    expect(backlog.reserve(10, NOW + 5_000)).toBe(NOW + 5_100);
  });

  it.each([
    ['half a minute', 1_000, 30_000],
    ['eight of its latencies where that is longer', 15_000, 120_000],
  ])('has a job of a line without end look once in %s, and after twice as long', (_, latencyMs, atLeastMs) => {
    const backlog = aBusy(latencyMs);
    const waits = Array.from({ length: 1_000 }, () => backlog.reserve(1, NOW) - NOW).slice(100);
    expect(Math.min(...waits)).toBeGreaterThanOrEqual(atLeastMs);
    expect(Math.max(...waits)).toBeLessThanOrEqual(2 * atLeastMs);
    const halves = [waits.filter((ms) => ms < 1.5 * atLeastMs), waits.filter((ms) => ms >= 1.5 * atLeastMs)];
    for (const half of halves) expect(half.length).toBeGreaterThan(440); // spread evenly
  });

  it('never has jobs back faster than the slots can serve them, and never in the past', () => {
    // A line of ten that is shorter than the longest a job is put off.
    const latencyMs = fc.integer({ min: 1, max: 5_000 });
    fc.assert(
      fc.property(
        latencyMs,
        fc.integer({ min: 1, max: 64 }),
        fc.array(fc.nat(1_000), { maxLength: 10 }),
        (latency, slots, waits) => {
          const backlog = aBusy(latency);
          let now = NOW;
          const times = waits.map((waitMs) => {
            now += waitMs;
            backlog.take(now);
            const at = backlog.reserve(slots, now);
            expect(at).toBeGreaterThan(now);
            return at;
          });
          const gaps = times.slice(1).map((at, index) => at - (times[index] ?? 0));
          // Each time is rounded up to a whole millisecond.
          for (const gap of gaps) expect(gap).toBeGreaterThan(latency / slots - 1);
        },
      ),
    );
  });
});
