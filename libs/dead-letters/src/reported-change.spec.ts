import { describe, expect, it } from '@jest/globals';
import type { ToldChange } from '@relay/audit';
import { makeTold } from './reported-change.js';

const change = { what: 'replay', selection: { all: true }, by: { operator: 'relay dead-letters' } } as const;

describe('the outcome of a change of dead letters', () => {
  it('is told behind what was asked', async () => {
    const changes: ToldChange[] = [];
    const tell = async (each: ToldChange) => void changes.push(each);
    const refused = [{ id: 'd1', why: 'gone' }];
    const report = { replayed: 1, deliveries: 1, refused, refusedCount: 1, missing: [], complete: true };
    const untold = () => expect('told').toBe('untold');
    expect(await makeTold({ tell }, change, () => Promise.resolve(report), untold)).toBe(report);
    expect(changes.map(({ event }) => event)).toEqual(['dead-letters.replay.asked', 'dead-letters.replay.done']);
    expect(changes[1]).toMatchObject(report);
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
