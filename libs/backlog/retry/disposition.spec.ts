import { describe, expect, it } from '@jest/globals';
import { retryEnv } from '@relay/config';
import * as fc from 'fast-check';
import {
  DEFAULT_HORIZON_MS,
  disposition,
  isBeyondHorizon,
  parseSchedule,
  type Disposition,
  type AttemptVerdict,
} from './disposition.js';

const DEFAULT_SCHEDULE = parseSchedule(retryEnv.RETRY_SCHEDULE.parse(undefined));
const POLICY = { schedule: [1_000, 60_000], horizonMs: 100_000 };
const NOW = 1_000_000;
const FAILED: AttemptVerdict = { kind: 'failed' };
const retryAt = (at: number): Disposition => ({ kind: 'retry', at });
const deadLetter = (reason: 'attempts_exhausted' | 'horizon_passed' | 'gone'): Disposition => ({
  kind: 'dead-letter',
  reason,
});

describe('disposition', () => {
  it.each<[string, AttemptVerdict, number, number, number, Disposition]>([
    // what happened, outcome, attempt, random, age of the envelope, expected
    ['delivers', { kind: 'delivered' }, 1, 0, 0, { kind: 'delivered' }],
    ['delivers at the last attempt', { kind: 'delivered' }, 3, 0, 0, { kind: 'delivered' }],
    ['delivers past the horizon', { kind: 'delivered' }, 1, 0, 200_000, { kind: 'delivered' }],
    ['dead-letters what is gone', { kind: 'gone' }, 1, 0, 0, deadLetter('gone')],
    ['retries after the first delay', FAILED, 1, 0, 0, retryAt(NOW + 1_000)],
    ['stretches the delay by chance', FAILED, 1, 0.5, 0, retryAt(NOW + 1_100)],
    ['retries after the second delay', FAILED, 2, 0, 0, retryAt(NOW + 60_000)],
    ['dead-letters after the last attempt', FAILED, 3, 0, 0, deadLetter('attempts_exhausted')],
    ['waits as long as asked', { kind: 'failed', notBefore: NOW + 5_000 }, 1, 0, 0, retryAt(NOW + 5_000)],
    ['waits for the schedule if longer', { kind: 'failed', notBefore: NOW + 5 }, 1, 0, 0, retryAt(NOW + 1_000)],
    [
      'makes no attempt more because a wait was asked for',
      { kind: 'failed', notBefore: NOW + 5_000 },
      3,
      0,
      0,
      deadLetter('attempts_exhausted'),
    ],
    ['retries at the very horizon', FAILED, 1, 0, 99_000, retryAt(NOW + 1_000)],
    ['dead-letters what would come after the horizon', FAILED, 1, 0, 99_001, deadLetter('horizon_passed')],
    [
      'dead-letters what is asked to wait beyond the horizon',
      { kind: 'failed', notBefore: NOW + 100_001 },
      1,
      0,
      0,
      deadLetter('horizon_passed'),
    ],
    ['dead-letters what failed past the horizon', FAILED, 1, 0, 200_000, deadLetter('horizon_passed')],
    ['names the schedule where both ended', FAILED, 3, 0, 200_000, deadLetter('attempts_exhausted')],
  ])('%s', (_, outcome, attempt, random, age, expected) => {
    expect(disposition(outcome, attempt, POLICY, { now: NOW, random, acceptedAt: NOW - age })).toEqual(expected);
  });

  it('ends a failing delivery after at most ten attempts, spaced as published, within 96 hours', () => {
    const policy = { schedule: DEFAULT_SCHEDULE, horizonMs: DEFAULT_HORIZON_MS };
    const chance = fc.double({ min: 0, max: 1, noNaN: true });
    const step = fc.record({
      random: chance,
      askedMs: fc.option(fc.nat(24 * 3_600_000), { freq: 8, nil: undefined }),
      lateMs: fc.nat(60_000),
    });
    fc.assert(
      fc.property(fc.array(step, { minLength: 12, maxLength: 12 }), (steps) => {
        let now = 0;
        let attempt = 0;
        let end: Disposition | undefined;
        for (const { random, askedMs, lateMs } of steps) {
          attempt += 1;
          const outcome: AttemptVerdict = askedMs === undefined ? FAILED : { kind: 'failed', notBefore: now + askedMs };
          end = disposition(outcome, attempt, policy, { now, random, acceptedAt: 0 });
          if (end.kind !== 'retry') break;
          expect(end.at).toBeGreaterThanOrEqual(now + (DEFAULT_SCHEDULE[attempt - 1] ?? Infinity));
          expect(end.at).toBeGreaterThanOrEqual(now + (askedMs ?? 0));
          expect(end.at).toBeLessThanOrEqual(DEFAULT_HORIZON_MS);
          now = end.at + lateMs;
        }
        expect(end?.kind).toBe('dead-letter');
        expect(attempt).toBeLessThanOrEqual(10);
      }),
    );
  });
});

describe('the default policy', () => {
  it('makes exactly ten attempts without Retry-After', () => {
    const policy = { schedule: DEFAULT_SCHEDULE, horizonMs: DEFAULT_HORIZON_MS };
    let now = 0;
    let attempt = 1;
    for (;;) {
      const next = disposition(FAILED, attempt, policy, { now, random: 1, acceptedAt: 0 });
      if (next.kind !== 'retry') break;
      now = next.at;
      attempt += 1;
    }
    expect(attempt).toBe(10);
  });
});

describe('isBeyondHorizon', () => {
  it.each([
    [0, false],
    [100_000, false],
    [100_001, true],
  ])('says %p ms after acceptance: %p', (age, expected) => {
    expect(isBeyondHorizon(NOW + age, NOW, POLICY)).toBe(expected);
  });
});
