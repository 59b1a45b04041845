import { describe, expect, it } from '@jest/globals';
import { readMoment, windowOf, windowText } from './replay-run.js';

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
  ])('is told as it was understood', (window, text) => {
    expect(windowText(windowOf(window))).toBe(text);
  });

  it('has null where it is open', () => {
    expect(windowOf({ since })).toEqual({ since: '2030-01-01T00:00:00.000Z', until: null });
  });
});
