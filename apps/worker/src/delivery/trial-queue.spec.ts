import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import type { Admission } from './unproven-origins.js';
import { TrialQueue } from './trial-queue.js';

const ENDPOINT = 'p https://a';
const MAX_WAIT_MS = 250;

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

it('a delivery that is added in the moment for which a turn was promised is not forgotten', async () => {
  const answers: Admission[] = [{ kind: 'wait', ms: MAX_WAIT_MS }];
  const stored: string[] = [];
  const trials = new TrialQueue<string>(
    {
      enter: () => Promise.resolve(answers.shift() ?? { kind: 'wait', ms: 60_000 }),
      ended: () => Promise.resolve(),
      reserve: () => 0,
    },
    { run: () => Promise.resolve(), offer: () => undefined, store: (item) => void stored.push(item) },
    MAX_WAIT_MS,
  );
  trials.add('first', ENDPOINT);
  await jest.advanceTimersByTimeAsync(MAX_WAIT_MS);
  expect(stored).toEqual(['first']);
  trials.add('second', ENDPOINT);
  await jest.advanceTimersByTimeAsync(2 * MAX_WAIT_MS);
  expect([stored, trials.waiting]).toEqual([['first', 'second'], 0]);
});
