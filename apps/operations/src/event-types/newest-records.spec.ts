import { randomUUID } from 'node:crypto';
import type { LogRecord } from '@relay/events';
import { NewestRecords } from './newest-records.js';

type Fetcher = ConstructorParameters<typeof NewestRecords>[0];

const recordOf = (offset: number, payload: object, type = 'order.paid'): LogRecord => ({
  offset,
  key: null,
  value: Buffer.from(JSON.stringify({ id: randomUUID(), type, payload })),
  headers: {},
  timestamp: 0,
});
const orders = (count: number, total: (n: number) => unknown): LogRecord[] =>
  Array.from({ length: count }, (_, n) => recordOf(n, { total: total(n) }));

/** A topic with these partitions, fetched ten records at a time; `read` has the offsets that were fetched. */
function aTopic(...partitions: LogRecord[][]): { read: number[][]; fetcher: Fetcher } {
  const read: number[][] = partitions.map(() => []);
  const bounds = (_topics: unknown, which: string) =>
    Promise.resolve(new Map([['eu.order.paid', partitions.map((all) => (which === 'end' ? all.length : 0))]]));
  const fetch = (_topic: string, from: ReadonlyMap<number, number>) => {
    const [[partition, offset] = [0, 0]] = from;
    const records = partitions[partition]?.slice(offset, offset + 10) ?? [];
    read[partition]?.push(...records.map((record) => record.offset));
    return Promise.resolve([{ partition, records, next: offset + records.length, end: 0 }]);
  };
  return { read, fetcher: { bounds, fetch } };
}

const BOUNDS = { records: 60, reasons: 3, bytes: 1_000_000, readMs: 4_000, answerMs: 6_000 };
const SCHEMA = { properties: { total: { type: 'number', maximum: 90 } }, required: ['total'] };
const ok = (): Promise<void> => Promise.resolve();
const judge = (fetcher: Fetcher, bounds = BOUNDS) =>
  new NewestRecords(fetcher, 'eu.', bounds).judge('order.paid', SCHEMA, ok);

it('the newest records are judged, and small partitions leave their share to others', async () => {
  const { read, fetcher } = aTopic(
    orders(100, (n) => n),
    orders(5, () => 1),
    orders(100, () => 1),
  );
  expect(await judge(fetcher)).toEqual({
    records: 60,
    refused: 9,
    reasons: [{ pointer: '/total', detail: '"total" must be at most 90.' }],
  });
  expect(read.map((offsets) => offsets[0])).toEqual([73, 0, 72]);
});

it('the first three reasons are told once each, without values', async () => {
  const totals = ['canary', 'canary', null, 91, undefined, [1], 5];
  const { fetcher } = aTopic(orders(totals.length, (n) => totals[n]));
  const verdict = await judge(fetcher);
  expect(verdict).toMatchObject({ records: 7, refused: 6 });
  expect(verdict.reasons.map(({ detail }) => detail)).toEqual([
    '"total" must be a number.',
    '"total" must be at most 90.',
    '"total" is missing.',
  ]);
});

it('a record that is no envelope of the type counts for nothing', async () => {
  const { fetcher } = aTopic([recordOf(0, {}, 'other.type'), { ...recordOf(1, {}), value: Buffer.from('{') }]);
  expect(await judge(fetcher)).toEqual({ records: 0, refused: 0, reasons: [] });
});

it.each([{ readMs: -1 }, { bytes: 10 }])('reading ends at a bound, as %j', async (bound) => {
  const verdict = await judge(aTopic(orders(50, () => 1)).fetcher, { ...BOUNDS, ...bound });
  expect(verdict.incomplete).toBe('limit');
  expect(verdict.records).toBeLessThan(2);
});

describe('NewestRecords', () => {
  const away = (): Promise<never> => Promise.reject(new Error('away'));
  const silent = (): Promise<never> => new Promise(() => undefined);

  it.each([
    ['refuses', away],
    ['is silent', silent],
  ])('says if Kafka %s, and reads no further topic', async (_how, bounds) => {
    const fetcher = { ...aTopic().fetcher, bounds } as Fetcher;
    const records = new NewestRecords(fetcher, 'eu.', { ...BOUNDS, answerMs: 50 });
    const nothing = { records: 0, refused: 0, reasons: [], incomplete: 'kafka' };
    expect(await records.judge('order.paid', SCHEMA, ok)).toEqual(nothing);
    expect(await records.judge('order.sent', SCHEMA, () => Promise.reject(new Error('is read')))).toEqual(nothing);
  });

  it('reads nothing that cannot be reported', async () => {
    const { read, fetcher } = aTopic(orders(5, () => 1));
    const records = new NewestRecords(fetcher, 'eu.', BOUNDS);
    expect(await records.judge('order.paid', SCHEMA, away)).toMatchObject({ incomplete: 'kafka' });
    expect(read).toEqual([[]]);
  });
});
