import { setTimeout as delay } from 'node:timers/promises';
import { deliveryId } from '@relay/delivery';
import type { EnvelopeRecord } from '@relay/events';
import { PinoLog, ThrottledLog } from '@relay/telemetry';
import { FailedDeliveries, type InRange } from './failed-deliveries.js';

const [a, b] = ['aaaaaaaa-0000-4000-8000-000000000001', 'bbbbbbbb-0000-4000-8000-000000000002'];
const envelopeId = '11111111-1111-4111-8111-111111111111';
const hash = '0123456789abcdef';
const NOTHING_REFUSED = { refused: [], refusedCount: 0, complete: true, deliveries: 0 };
const log = new ThrottledLog(new PinoLog('spec', 'silent'));
const idOf = (webhookId: string, series: number, of = hash): string =>
  deliveryId({ webhookId, envelopeId, hash: of, series, acceptedAt: 1_000 });
const inRange = (key: string): InRange => ({
  key,
  record: { envelope: { id: envelopeId, contentHash: hash } } as EnvelopeRecord,
});

describe('the deliveries of a replay of dead letters', () => {
  const letters = [idOf(a, 0), idOf(a, 3), idOf(b, 0), idOf(a, 0, 'fedcba9876543210')];
  const failed = (replay: (ids: readonly string[]) => Promise<number> = async () => 1) =>
    new FailedDeliveries(
      { ofEnvelope: async () => ({ dead: letters, waiting: [] }) },
      { replayLetters: async (ids) => ({ ...NOTHING_REFUSED, replayed: await replay(ids) }) },
      log,
    );

  it('are those of its webhook and content that have dead letters', async () => {
    const own = inRange(`failed:${a}/7000`);
    expect(await failed().of([own])).toEqual([{ ...own, letters: [idOf(a, 0), idOf(a, 3)] }]);
    expect(await failed().of([inRange('failed:cccccccc-0000-4000-8000-000000000003/7000')])).toEqual([]);
  });

  it('are all deliveries for a parked webhook and any other replay', async () => {
    const others = [inRange(a), inRange(`${a}/8000`)];
    const found = await failed().of(others);
    expect(found.map(({ key, letters: ended }) => [key, ended])).toEqual(others.map(({ key }) => [key, []]));
  });

  it('go on when their letters are deliveries again, and report letters that are gone', async () => {
    const asked: unknown[] = [];
    let isOver = false;
    const over = failed(async (ids) => {
      asked.push(ids);
      if (asked.length < 3) throw new Error('away');
      return 2;
    }).replay(['one', 'two']);
    void over.then(() => (isOver = true));
    await delay(50);
    expect([asked.length, isOver]).toEqual([1, false]);
    expect(await over).toBe(true);
    expect(asked).toEqual(Array.from({ length: 3 }, () => ['one', 'two']));
    expect(await failed(async () => 0).replay(['gone'])).toBe(false);
  });
});
