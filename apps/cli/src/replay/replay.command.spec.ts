import { PassThrough } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { Shell } from '../shell.js';
import { shownProgress } from '../shown-progress.js';
import type { FollowedReplay } from './replay-run.js';
import { follow, totalOf } from './replay.command.js';

/** Two replays of 1,000 records in all, of which so many were looked at: this share of them was to be delivered, some with the retries. */
const statusesOf = (lookedAt: number, share: number): FollowedReplay[] => {
  const state = lookedAt === 1_000 ? 'done' : 'running';
  const [ended, left] = [lookedAt * share, 1_000 - lookedAt];
  return [
    { state, matched: ended * 0.4 + left * 0.4, done: ended * 0.3, failed: ended * 0.1 },
    { state, matched: ended * 0.6 + left * 0.6, done: ended * 0.6, failed: 0 },
  ] as FollowedReplay[];
};

const LOOK_TAKES_MS = 3_000;

/** All that is printed while so many records have been looked at at each look, three seconds after the one before. */
async function shownOf(isTerminal: boolean, looks: readonly number[], share = 1): Promise<string[]> {
  let printed = '';
  const stream = Object.assign(new PassThrough(), { isTTY: true, columns: 80 });
  stream.setEncoding('utf8').on('data', (text: string) => (printed += text));
  const note = (text: string): void => void (printed += `${text}\n`);
  const shown = shownProgress({ isTerminal, note } as Shell, false, stream);
  const left = looks.values();
  await follow(
    [],
    (): Promise<FollowedReplay[]> => {
      const lookedAt = left.next().value ?? 1_000;
      if (lookedAt !== looks[0]) jest.advanceTimersByTime(LOOK_TAKES_MS);
      return Promise.resolve(statusesOf(lookedAt, share));
    },
    shown,
    0,
  );
  shown.end();
  // The bar goes back to the first column to be drawn anew.
  return stripVTControlCharacters(printed.replaceAll('\u001B[1G', '\n')).split('\n').filter(Boolean);
}

describe('follow', () => {
  beforeEach(() => void jest.useFakeTimers({ doNotFake: ['setTimeout', 'clearTimeout', 'setImmediate', 'nextTick'] }));
  afterEach(() => void jest.useRealTimers());

  it('draws a bar that begins with the records done before, and shows the rate since then', async () => {
    const lines = await shownOf(true, [900, 930]);
    expect(lines.map((line) => line.replaceAll(/[^ -~]+/g, '#'))).toEqual([
      'delivering again # 90 % | 900 of 1000 | 0/s | ? left',
      'delivering again # 93 % | 930 of 1000 | 10/s | 7s left',
      'delivering again # 100 % | 1000 of 1000 | 17/s | 0s left',
    ]);
    expect(lines[0]).toContain(` ${'█'.repeat(18)}${'░'.repeat(2)} `);
    expect(Math.max(...lines.map(({ length }) => length))).toBeLessThan(80);
  });

  it('prints lines with the same figures without a terminal', async () => {
    expect(await shownOf(false, [900, 930])).toEqual([
      'delivering again: 900 of 1000 records',
      'delivering again: 930 of 1000 records, 10/s, 7 s left',
      'delivering again: 1000 of 1000 records, 17/s, 0 s left',
    ]);
  });

  it('counts as looked at what there is nothing to deliver of: another partner’s, and what was no dead letter', async () => {
    expect(await shownOf(false, [0, 500], 0.2)).toEqual([
      'delivering again: 1000 records',
      'delivering again: 500 of 1000 records, 167/s, 3 s left',
      'delivering again: 1000 of 1000 records, 167/s, 0 s left',
    ]);
  });

  it.each([true, false])('begins at nothing with replays just ordered, on a terminal: %s', async (isTerminal) => {
    const [first] = await shownOf(isTerminal, [0]);
    expect(first).toMatch(isTerminal ? / 0 % \| 0 of 1000 \| 0\/s/ : /^delivering again: 1000 records$/);
  });

  it.each([
    ['done', false, true],
    ['cancelled', false, true],
    ['paused', false, true],
    ['running', true, true],
    ['running', false, false],
  ] as const)(
    'follows a replay that is done and one that is %s, with its webhook disabled: %s, to an end: %s',
    async (state, isDisabled, ends) => {
      let looks = 0;
      const shown = { begin: () => undefined, done: () => undefined, note: () => undefined, end: () => undefined };
      await follow(
        [],
        () => {
          looks += 1;
          const found = looks === 1 ? { state, isDisabled } : { state: 'done', isDisabled: false };
          return Promise.resolve([{ state: 'done' }, { ...found, matched: 1, done: 0, failed: 0 }] as FollowedReplay[]);
        },
        shown,
        0,
      );
      expect(looks).toBe(ends ? 1 : 2);
    },
  );
});

describe('totalOf', () => {
  it('names the replays that are not there any more', () => {
    const kept = {
      id: 'kept',
      createdAt: '1970-01-01T00:00:01Z',
      endedAt: '1970-01-01T00:00:03Z',
      matched: 5,
      done: 5,
      failed: 0,
    } as FollowedReplay;
    expect(totalOf(['gone', 'kept'], [kept])).toMatchObject({ lost: ['gone'], matched: 5, done: 5, seconds: 2 });
  });
});
