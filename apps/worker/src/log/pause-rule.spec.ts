import { isScarce, pauseFor } from './reading-pause.js';

const load = (used: number, max: number, queued: number) => ({ memory: { used, max }, queued });

describe('reading', () => {
  it.each([
    ['goes on below 70 % of maxmemory', load(69, 100, 0), false, /^goes on$/],
    ['pauses at 70 %', load(70, 100, 0), false, /70 % .* below 60 %/],
    ['stays paused at 60 %', load(60, 100, 0), true, /60 %/],
    ['resumes below 60 %', load(59, 100, 0), true, /^goes on$/],
    ['goes on however much Redis uses without a maxmemory', load(1e12, 0, 0), false, /^goes on$/],
    ['goes on with as many jobs as are allowed', load(0, 0, 1_000), false, /^goes on$/],
    ['pauses with one more', load(0, 0, 1_001), false, /1001 deliveries .* resumes at 800/],
    ['stays paused above 80 % of them', load(0, 0, 801), true, /801/],
    ['resumes at 80 % of them', load(0, 0, 800), true, /^goes on$/],
    ['stays paused until both allow it', load(65, 100, 10), true, /65 %/],
  ])('%s', (_, given, isPaused, expected) => {
    expect(pauseFor(given, isPaused, 1_000) ?? 'goes on').toMatch(expected);
  });
});

describe('optional data', () => {
  it.each([
    [50, 100, false],
    [51, 100, true],
    [1e12, 0, false],
  ])('is left out when %i of %i bytes are used: %s', (used, max, isLeft) => {
    expect(isScarce(load(used, max, 0))).toBe(isLeft);
  });

  it('is left out long before it could keep reading from resuming', () => {
    expect(pauseFor(load(51, 100, 0), true, 1)).toBeUndefined();
  });
});
