import { describe, expect, it } from '@jest/globals';
import { retryEnv } from '@relay/config';
import * as fc from 'fast-check';
import { longestWait, parseSchedule, retryDelay } from './disposition.js';

const DEFAULT_SCHEDULE = parseSchedule(retryEnv.RETRY_SCHEDULE.parse(undefined));
const HOUR_MS = 3_600_000;

describe('parseSchedule', () => {
  it.each([
    ['5s', [5_000]],
    ['200ms,1s,2m,3h', [200, 1_000, 120_000, 3 * HOUR_MS]],
    [' 5s , 5m ', [5_000, 300_000]],
    ['20s,1s', [20_000, 1_000]],
  ])('reads %p', (text, expected) => {
    expect(parseSchedule(text)).toEqual(expected);
  });

  it.each([
    ['', 'entry 1 of the retry schedule is no duration above zero such as 5s, 5m or 2h'],
    ['5s,,5m', 'entry 2 of the retry schedule is'],
    ['5s,5m,', 'entry 3 of the retry schedule is'],
    ['5s,5x', 'entry 2 of the retry schedule is'],
    ['5', 'entry 1 of the retry schedule is'],
    ['-5s', 'entry 1 of the retry schedule is'],
    ['1.5h', 'entry 1 of the retry schedule is'],
    ['0s,5s', 'entry 1 of the retry schedule is'],
  ])('refuses %p and names the entry', (text, message) => {
    expect(() => parseSchedule(text)).toThrow(message);
  });
});

describe('the default schedule', () => {
  it('makes ten attempts within 75.6 hours', () => {
    expect(DEFAULT_SCHEDULE).toHaveLength(9);
    expect(DEFAULT_SCHEDULE[0]).toBe(5_000);
    expect(DEFAULT_SCHEDULE.reduce((sum, delayMs) => sum + delayMs, 0)).toBe(75 * HOUR_MS + 35 * 60_000 + 5_000);
  });

  it('ends before the 96 hours however far chance stretches it', () => {
    const longest = DEFAULT_SCHEDULE.map((_, index) => retryDelay(DEFAULT_SCHEDULE, index + 1, 1) ?? 0);
    expect(longest.reduce((sum, delayMs) => sum + delayMs, 0)).toBeLessThan(96 * HOUR_MS);
  });
});

describe('longestWait', () => {
  it.each([
    ['5s', 24 * HOUR_MS],
    ['20h', 24 * HOUR_MS],
    ['24h,5s', 28.8 * HOUR_MS],
  ])('for %p is %d ms', (schedule, expected) => {
    expect(longestWait(parseSchedule(schedule))).toBe(expected);
  });
});

describe('retryDelay', () => {
  it.each([
    [1, 0, 1_000],
    [1, 0.5, 1_100],
    [1, 1, 1_200],
    [2, 0, 60_000],
    [2, 0.25, 63_000],
    [3, 0, undefined],
    [99, 0, undefined],
  ])('after %d attempts and with chance %d waits %p ms', (attemptsMade, random, expected) => {
    expect(retryDelay([1_000, 60_000], attemptsMade, random)).toBe(expected);
  });

  it('allows exactly one attempt more than there are delays', () => {
    const allowed = Array.from({ length: 20 }, (_, i) => i + 1).filter(
      (made) => retryDelay(DEFAULT_SCHEDULE, made, 0) !== undefined,
    );
    expect(Math.max(...allowed) + 1).toBe(10);
  });

  it('never shortens a delay and never adds more than a fifth', () => {
    const chance = fc.double({ min: 0, max: 1, noNaN: true });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 30 * 24 * HOUR_MS }), chance, (delayMs, random) => {
        const stretched = retryDelay([delayMs], 1, random);
        expect(stretched).toBeGreaterThanOrEqual(delayMs);
        expect(stretched).toBeLessThanOrEqual(Math.ceil(delayMs * 1.2));
        expect(Number.isInteger(stretched)).toBe(true);
      }),
    );
  });

  it.each([0, -1, 1.5, Number.NaN])('throws after %p attempts instead of reporting an exhausted schedule', (made) => {
    expect(() => retryDelay(DEFAULT_SCHEDULE, made, 0)).toThrow(RangeError);
  });
});
