import { setTimeout as delay } from 'node:timers/promises';
import { deliveryId } from '@relay/delivery';
import type { EnvelopeRecord } from '@relay/events';
import { PinoLog, ThrottledLog } from '@relay/telemetry';
import { FailedDeliveries, type InRange } from './failed-deliveries.js';

const [a, b] = ['aaaaaaaa-0000-4000-8000-000000000001', 'bbbbbbbb-0000-4000-8000-000000000002'];
const envelopeId = '11111111-1111-4111-8111-111111111111';
const hash = '0123456789abcdef';
const log = new ThrottledLog(new PinoLog('spec', 'silent'));
const idOf = (webhookId: string, series: number, of = hash): string =>
  deliveryId({ webhookId, envelopeId, hash: of, series });
const inRange = (key: string, id: string): InRange => ({
  key,
  id,
  record: { envelope: { id: envelopeId, contentHash: hash } } as EnvelopeRecord,
});

describe('what a replay of dead letters is about', () => {
  const letters = [idOf(a, 0), idOf(a, 3), idOf(b, 0), idOf(a, 7_000), idOf(a, 0, 'fedcba9876543210')];
  const failed = (end: (ids: readonly string[], id: string) => Promise<void> = async () => undefined) =>
    new FailedDeliveries({ lettersOf: async () => letters, end, log });

  it('is what its webhook has letters of with that content, but for those of the replay itself', async () => {
    const own = inRange(`${a}/7000/failed`, idOf(a, 7_000));
    expect(await failed().of([own])).toEqual([{ ...own, letters: [idOf(a, 0), idOf(a, 3)] }]);
    expect(await failed().of([inRange('cccccccc-0000-4000-8000-000000000003/7000/failed', 'c')])).toEqual([]);
  });

  it('is everything for a parked webhook and any other replay, which end no letters', async () => {
    const others = [inRange(a, idOf(a, 0)), inRange(`${a}/8000`, idOf(a, 8_000))];
    const found = await failed().of(others);
    expect(found.map(({ id, letters: ended }) => [id, ended])).toEqual(others.map(({ id }) => [id, []]));
    const asked: unknown[] = [];
    await failed(async (ids) => void asked.push(ids)).ended([], 'x');
    expect(asked).toEqual([]);
  });

  it('ends letters until that is stored', async () => {
    const asked: unknown[] = [];
    let isOver = false;
    const over = failed(async (...facts) => {
      asked.push(facts);
      if (asked.length < 3) throw new Error('away');
    }).ended(['one', 'two'], 'again');
    void over.then(() => (isOver = true));
    await delay(50);
    expect([asked.length, isOver]).toEqual([1, false]);
    await over;
    expect(asked).toEqual(Array.from({ length: 3 }, () => [['one', 'two'], 'again']));
  });
});
