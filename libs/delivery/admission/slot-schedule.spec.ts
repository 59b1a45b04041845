import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { SlotSchedule } from './slot-schedule.js';

const NOW = 1_000_000;

/** All slots taken just now, after attempts that took this long each. */
const aBusy = (...durationsMs: number[]) => {
  const schedule = new SlotSchedule();
  for (const durationMs of durationsMs) schedule.giveBack(durationMs, NOW);
  schedule.take(NOW);
  return schedule;
};

describe('SlotSchedule', () => {
  it('spaces reservations by latency over slots', () => {
    const schedule = aBusy(3_200);
    expect([1, 2, 3].map(() => schedule.reserve(64, NOW))).toEqual([NOW + 50, NOW + 100, NOW + 150]);
  });

  it('assumes a latency of 200 ms before the first attempt ends', () => {
    expect(aBusy().reserve(10, NOW)).toBe(NOW + 20);
  });

  it('ignores earlier reservations that were made while slots came free more slowly', () => {
    const schedule = aBusy(1_000);
    for (let job = 0; job < 50; job += 1) schedule.reserve(1, NOW);
    expect(schedule.reserve(50, NOW)).toBe(NOW + 1_020);
  });

  it('serves in turn the jobs that came back too early because the latency was guessed too low', () => {
    const schedule = aBusy();
    const slots = 8;
    const looks = Array.from({ length: 92 }, () => schedule.reserve(slots, NOW));
    schedule.giveBack(3_000, NOW);
    const again = looks.map((at) => {
      schedule.take(at);
      return schedule.reserve(slots, at);
    });
    expect(again[0]).toBeLessThan(NOW + 3_000);
    expect(Math.max(...again)).toBeLessThan(NOW + 40_000);
  });

  it('follows the latency as it changes', () => {
    expect(aBusy(1_000, ...Array<number>(100).fill(100)).reserve(1, NOW)).toBeLessThan(NOW + 105);
    expect(aBusy(100, ...Array<number>(100).fill(1_000)).reserve(1, NOW)).toBeGreaterThan(NOW + 995);
  });

  it('treats a fast endpoint as slow as soon as no attempt ends', () => {
    const schedule = aBusy(5);
    expect(schedule.reserve(64, NOW + 6_400)).toBe(NOW + 6_500);
  });

  it('starts from now again when the reserved times have passed', () => {
    const schedule = aBusy(1_000);
    schedule.reserve(10, NOW);
    schedule.take(NOW + 5_000);
    expect(schedule.reserve(10, NOW + 5_000)).toBe(NOW + 5_100);
  });

  it.each([
    ['half a minute', 1_000, 30_000],
    ['eight of its latencies where that is longer', 15_000, 120_000],
  ])('brings a job of an endless backlog back after %s to twice as long', (_, latencyMs, atLeastMs) => {
    const schedule = aBusy(latencyMs);
    const waits = Array.from({ length: 1_000 }, () => schedule.reserve(1, NOW) - NOW).slice(100);
    expect(Math.min(...waits)).toBeGreaterThanOrEqual(atLeastMs);
    expect(Math.max(...waits)).toBeLessThanOrEqual(2 * atLeastMs);
    const halves = [waits.filter((ms) => ms < 1.5 * atLeastMs), waits.filter((ms) => ms >= 1.5 * atLeastMs)];
    for (const half of halves) expect(half.length).toBeGreaterThan(440); // spread evenly
  });

  it('never brings jobs back faster than the slots can serve them, and never in the past', () => {
    // A line of ten that is shorter than the longest a job is put off.
    const latencyMs = fc.integer({ min: 1, max: 5_000 });
    fc.assert(
      fc.property(
        latencyMs,
        fc.integer({ min: 1, max: 64 }),
        fc.array(fc.nat(1_000), { maxLength: 10 }),
        (latency, slots, waits) => {
          const schedule = aBusy(latency);
          let now = NOW;
          const times = waits.map((waitMs) => {
            now += waitMs;
            schedule.take(now);
            const at = schedule.reserve(slots, now);
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
