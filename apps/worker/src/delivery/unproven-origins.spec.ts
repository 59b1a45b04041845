import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { TrialQueue, type Entry } from './unproven-origins.js';

const WEBHOOK = { endpoint: 'p https://a', id: 'w' };
const MAX_WAIT_MS = 250;

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

/** Each first delivery of an endpoint is told the next entry. */
function aQueue(entries: Entry[]) {
  const events: string[] = [];
  const trials = new TrialQueue(
    {
      isProven: () => false,
      enter: () => Promise.resolve(entries.shift() ?? { mayGo: false, at: 9, hasTurn: false }),
      askAgainAt: () => 7,
    },
    MAX_WAIT_MS,
  );
  const add = async (item: string): Promise<void> => {
    const turn = await trials.turn(WEBHOOK);
    if (turn === 'proven') events.push(`${item} is offered`);
    else if (turn.mayGo) events.push(`${item} runs`);
    else events.push(`${item} stored for ${turn.at}${turn.hasTurn ? ', its turn' : ''}`);
  };
  return { trials, add: (item: string) => void add(item), events };
}

it('the first delivery has the turn, and the others become jobs unless it is answered 2xx in time', async () => {
  const { trials, add, events } = aQueue([{ mayGo: true }]);
  for (const item of ['first', 'second', 'third']) add(item);
  await jest.advanceTimersByTimeAsync(MAX_WAIT_MS - 1);
  expect([events, trials.waiting]).toEqual([['first runs'], 2]);
  await jest.advanceTimersByTimeAsync(1);
  expect(events.slice(1)).toEqual(['second stored for 7', 'third stored for 7']);
  expect(trials.waiting).toBe(0);
});

it('all deliveries of an origin that is answered 2xx follow at once', async () => {
  const { trials, add, events } = aQueue([{ mayGo: true }]);
  for (const item of ['first', 'second']) add(item);
  await jest.advanceTimersByTimeAsync(1);
  trials.release('https://a');
  await jest.advanceTimersByTimeAsync(2 * MAX_WAIT_MS);
  expect(events).toEqual(['first runs', 'second is offered']);
});

it('a delivery whose turn comes later becomes a job with that turn, and the next one asks again', async () => {
  const { add, events } = aQueue([{ mayGo: false, at: 5, hasTurn: true }]);
  add('first');
  await jest.advanceTimersByTimeAsync(MAX_WAIT_MS);
  add('second');
  await jest.advanceTimersByTimeAsync(MAX_WAIT_MS);
  expect(events).toEqual(['first stored for 5, its turn', 'second stored for 9']);
});
