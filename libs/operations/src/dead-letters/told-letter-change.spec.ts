import { describe, expect, it } from '@jest/globals';
import type { ToldChange } from '../audit.js';
import { makeTold } from './told-letter-change.js';

const change = { what: 'replay', selection: { all: true }, by: { operator: 'relay dead-letters' } } as const;
const refusedOf = (count: number) => Array.from({ length: count }, (_, index) => ({ id: `d${index}`, why: 'gone' }));

describe('the outcome of a change of dead letters', () => {
  it.each([
    [100, 100, undefined],
    [101, 100, 101],
    [20_000, 100, 20_000],
  ])('with %i refused tells %i of them and their number, since a record has its limit', async (count, told, total) => {
    const changes: ToldChange[] = [];
    const tell = async (each: ToldChange) => void changes.push(each);
    const report = { replayed: 1, deliveries: 1, refused: refusedOf(count), missing: [], complete: true };
    const untold = () => expect('told').toBe('untold');
    expect(await makeTold({ tell }, change, () => Promise.resolve(report), untold)).toBe(report);
    expect(changes.map(({ event }) => event)).toEqual(['dead-letters.replay.asked', 'dead-letters.replay.done']);
    expect(changes[1]).toMatchObject({ replayed: 1, refused: refusedOf(told) });
    expect(changes[1]?.['refusedCount']).toBe(total);
  });

  it('that Kafka does not take is passed on with the reason, not with what the fault means before a change', async () => {
    const away = new Error('the brokers do not answer');
    const tell = async ({ event }: ToldChange) => {
      if (event.endsWith('.done')) throw new Error('nothing was changed', { cause: away });
    };
    const untold: unknown[] = [];
    const report = { purged: 1, missing: [], complete: true };
    expect(
      await makeTold(
        { tell },
        change,
        () => Promise.resolve(report),
        (error) => untold.push(error),
      ),
    ).toBe(report);
    expect(untold).toEqual([away]);
  });
});
