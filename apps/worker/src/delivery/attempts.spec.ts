import { classify, type AttemptResult } from '@relay/delivery';
import { retryEnv } from '@relay/config';
import { DEFAULT_HORIZON_MS, disposition, parseSchedule, type Disposition } from '@relay/retry';
import { GoodAnswers } from './attempts.js';

// What answers mean (docs/integrate/answers.md), by a clock of its own: an endpoint that answers every attempt the same, to
// the end.

const HOUR = 3_600_000;
const START = Date.UTC(2026, 10, 20, 12);
const POLICY = { schedule: parseSchedule(retryEnv.RETRY_SCHEDULE.parse(undefined)), horizonMs: DEFAULT_HORIZON_MS };
const SCHEDULE_S = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400];

const answered = (status: number, retryAfter?: string): AttemptResult => ({
  kind: 'answered',
  status,
  retryAfter,
  durationMs: 0,
});
const failed = (error: Extract<AttemptResult, { kind: 'failed' }>['error'], durationMs = 0): AttemptResult => ({
  kind: 'failed',
  error,
  detail: error,
  durationMs,
});

/** Plays a delivery to its end; `answer` is asked at each attempt. Returns the end and the seconds between attempts. */
function play(answer: (now: number) => AttemptResult, random: number) {
  const gaps: number[] = [];
  let now = START;
  for (let attempt = 1; ; attempt += 1) {
    const result = answer(now);
    now += result.durationMs;
    const decided: Disposition = disposition(classify(result, now), attempt, POLICY, {
      now,
      random,
      acceptedAt: START,
    });
    if (decided.kind !== 'retry') return { end: decided, attempts: attempt, gaps };
    gaps.push((decided.at - now) / 1_000);
    now = decided.at;
  }
}

const EXHAUSTED = { kind: 'dead-letter', reason: 'attempts_exhausted' };

describe('an endpoint that answers every attempt the same', () => {
  it.each([200, 201, 202, 204, 299])('%i is delivered by one attempt', (status) => {
    expect(play(() => answered(status), 0)).toEqual({ end: { kind: 'delivered' }, attempts: 1, gaps: [] });
  });

  it('410 is a dead letter after one attempt', () => {
    const end = { kind: 'dead-letter', reason: 'gone' };
    expect(play(() => answered(410, '60'), 0)).toEqual({ end, attempts: 1, gaps: [] });
  });

  it.each<[string, AttemptResult]>([
    ['301', answered(301)],
    ['302', answered(302)],
    ['304', answered(304)],
    ['307', answered(307, '60')],
    ['400', answered(400)],
    ['401', answered(401)],
    ['404', answered(404)],
    ['408', answered(408)],
    ['429 without Retry-After', answered(429)],
    ['500 with Retry-After, which speaks of 429 and 503 only', answered(500, '99999')],
    ['502', answered(502)],
    ['503 without Retry-After', answered(503)],
    ['599', answered(599)],
    ['no answer within 15 s', failed('timeout', 15_000)],
    ['no connection within 5 s', failed('connect-timeout', 5_000)],
    ['a name that cannot be resolved', failed('dns')],
    ['a certificate that does not fit', failed('tls')],
    ['a reset', failed('reset')],
    ['a refused connection', failed('refused')],
    ['an answer that is no HTTP', failed('protocol')],
    ['an address that is not public', failed('egress-denied')],
    ['429 with Retry-After -1', answered(429, '-1')],
    ['503 with Retry-After abc', answered(503, 'abc')],
    ['503 with an empty Retry-After', answered(503, '')],
    ['503 with Retry-After 1.5', answered(503, '1.5')],
    ['429 with Retry-After 0', answered(429, '0')],
    ['429 with a date that has passed', answered(429, 'Thu, 01 Jan 2026 00:00:00 GMT')],
    ['429 with a date that is none', answered(429, 'Fri, 99 Foo 2026 99:99:99 GMT')],
  ])('%s is attempted ten times, by the schedule, each wait stretched by 0 to 20 %% of chance', (_, result) => {
    expect(play(() => result, 0)).toEqual({ end: EXHAUSTED, attempts: 10, gaps: SCHEDULE_S });
    const stretched = SCHEDULE_S.map((seconds) => seconds * 1.2);
    expect(play(() => result, 1)).toEqual({ end: EXHAUSTED, attempts: 10, gaps: stretched });
  });

  it.each([429, 503])('%i with Retry-After in seconds waits at least that long', (status) => {
    const { gaps, attempts } = play(() => answered(status, '600'), 0);
    expect(attempts).toBe(10);
    expect(gaps).toEqual(SCHEDULE_S.map((seconds) => Math.max(seconds, 600)));
  });

  it.each([429, 503])('%i with Retry-After as a date waits until then', (status) => {
    const inTenMinutes = (now: number): AttemptResult => answered(status, new Date(now + 600_000).toUTCString());
    const { gaps, attempts } = play(inTenMinutes, 0);
    expect(attempts).toBe(10);
    for (const [index, gap] of gaps.entries())
      expect(gap).toBeGreaterThanOrEqual(Math.max(SCHEDULE_S[index] ?? 0, 600) - 1);
  });

  it('Retry-After is bounded to 24 hours, and 96 hours after acceptance it is a dead letter', () => {
    const { gaps, attempts, end } = play(() => answered(503, '99999999999'), 0);
    expect([gaps, attempts]).toEqual([[86_400, 86_400, 86_400, 86_400], 5]);
    expect(end).toEqual({ kind: 'dead-letter', reason: 'horizon_passed' });
    expect(5 * 24 * HOUR).toBeGreaterThan(DEFAULT_HORIZON_MS);
  });
});

it('chooses one answer of a webhook in ten minutes', () => {
  const answers = new GoodAnswers();
  const due = (webhookId: string, ...minutes: number[]): boolean[] =>
    minutes.map((minute) => answers.isDue(webhookId, minute * 60_000));
  expect(due('w', 0, 1, 9.99, 10, 11, 20)).toEqual([true, false, false, true, false, true]);
  expect(due('v', 1, 2)).toEqual([true, false]);
});

it('remembers no more than 50,000 webhooks', () => {
  const answers = new GoodAnswers();
  for (let n = 0; n < 50_000; n += 1) answers.isDue(String(n), 0);
  expect(answers.isDue('7', 1)).toBe(false);
  expect(answers.isDue('one more', 1)).toBe(true);
  expect(answers.isDue('7', 1)).toBe(true);
});
