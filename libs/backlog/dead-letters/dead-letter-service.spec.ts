import { describe, expect, it } from '@jest/globals';
import type { ReportedChange } from '@relay/audit';
import { makeReported } from './dead-letter-service.js';

const change = { what: 'replay', selection: { all: true }, by: { operator: 'relay dead-letters' } } as const;

describe('the outcome of a change of dead letters', () => {
  it('is reported after the change', async () => {
    const changes: ReportedChange[] = [];
    const report = async (each: ReportedChange) => void changes.push(each);
    const refused = [{ id: 'd1', why: 'gone' }];
    const outcome = { replayed: 1, deliveries: 1, refused, refusedCount: 1, missing: [], complete: true };
    const unreported = () => expect('reported').toBe('unreported');
    expect(await makeReported({ report }, change, () => Promise.resolve(outcome), unreported)).toBe(outcome);
    expect(changes.map(({ event }) => event)).toEqual(['dead-letters.replay.asked', 'dead-letters.replay.done']);
    expect(changes[1]).toMatchObject(outcome);
  });

  it('is passed on with its cause when Kafka does not take it, since the error itself says that nothing was changed', async () => {
    const away = new Error('the brokers do not answer');
    const report = async ({ event }: ReportedChange) => {
      if (event.endsWith('.done')) throw new Error('nothing was changed', { cause: away });
    };
    const unreported: unknown[] = [];
    const outcome = { purged: 1, missing: [], complete: true };
    expect(
      await makeReported(
        { report },
        change,
        () => Promise.resolve(outcome),
        (error) => unreported.push(error),
      ),
    ).toBe(outcome);
    expect(unreported).toEqual([away]);
  });
});
