import { describe, expect, it } from '@jest/globals';
import { leftOut, leftToGoOn, planOf, readMoment, windowOf, windowText, type Replay } from './replay-run.js';

const window = { since: '2030-01-01T00:00:05.000Z', until: null };
const webhook = (id: string, status: 'active' | 'disabled' = 'active') => ({ id, status });
const replay = (webhookId: string, changes: Partial<Replay> = {}): Replay =>
  ({
    id: 'r',
    webhookId,
    orderedBy: 'operator',
    status: 'all',
    ...window,
    matched: 10,
    done: 3,
    failed: 1,
    ...changes,
  }) as Replay;

describe('relay replay', () => {
  it('orders a replay for a webhook without a running one, even if other webhooks have one', () => {
    const steps = planOf([webhook('a'), webhook('b')], [replay('c')], window);
    expect(steps.map(({ kind }) => kind)).toEqual(['order', 'order']);
    expect([leftToGoOn(steps), leftOut(steps)]).toEqual([0, []]);
  });

  it('continues a replay of the same time that an operator ordered, and counts its rest', () => {
    const steps = planOf([webhook('a')], [replay('a')], window);
    expect(steps).toMatchObject([{ kind: 'go-on', webhookId: 'a', replay: { id: 'r' } }]);
    expect(leftToGoOn(steps)).toBe(6);
  });

  it.each<[string, ReturnType<typeof webhook>, Replay[], string]>([
    ['disabled', webhook('a', 'disabled'), [], 'is disabled and gets nothing'],
    [
      'whose partner has one under way',
      webhook('a'),
      [replay('a', { orderedBy: 'partner' })],
      'r, ordered by its partner; wait',
    ],
    [
      'with one of another time',
      webhook('a'),
      [replay('a', { since: '2030-01-01T00:00:06.000Z' })],
      'r, ordered by an operator; wait',
    ],
    [
      'with one that ends earlier',
      webhook('a'),
      [replay('a', { until: '2030-01-01T00:00:09.000Z' })],
      'r, ordered by an operator; wait',
    ],
    ['with one of its dead letters', webhook('a'), [replay('a', { status: 'failed' })], 'another replay under way'],
  ])('orders none for a webhook %s, and says why', (_, meant, underWay, why) => {
    const steps = planOf([meant], underWay, window);
    expect(leftOut(steps)).toEqual([{ webhookId: 'a', why: expect.stringContaining(why) }]);
    expect(leftToGoOn(steps)).toBe(0);
  });
});

describe('a moment of the command line', () => {
  it.each([
    ['2030-01-01', '2030-01-01T00:00:00.000Z'],
    ['2030-01-01T12:30:00Z', '2030-01-01T12:30:00.000Z'],
    ['2030-01-01T12:30:00.25+02:00', '2030-01-01T10:30:00.250Z'],
  ])('is read: %s', (text, time) => {
    expect(new Date(readMoment(text) ?? NaN).toISOString()).toBe(time);
  });

  it.each([
    '7',
    '',
    '2030',
    '2030-02',
    '1.1.2030',
    '2030-02-30',
    '2030-01-01T12:30:00',
    '2030-01-01 12:30Z',
    'yesterday',
  ])('is not guessed at: %j', (text) => {
    expect(readMoment(text)).toBeUndefined();
  });
});

describe('the time of a replay', () => {
  const [since, until] = [Date.UTC(2030, 0, 1), Date.UTC(2030, 0, 2)];

  it.each([
    [{ since, until }, 'from 2030-01-01T00:00:00.000Z before 2030-01-02T00:00:00.000Z'],
    [{ since }, 'from 2030-01-01T00:00:00.000Z until now'],
    [{ until }, 'before 2030-01-02T00:00:00.000Z'],
    [{}, 'until now'],
  ])('is told as it was understood', (given, text) => {
    expect(windowText(windowOf(given))).toBe(text);
  });

  it('has null for an open side', () => {
    expect(windowOf({ since })).toEqual({ since: '2030-01-01T00:00:00.000Z', until: null });
  });
});
