import type { LogRecord } from '@relay/events';
import { ThrottledLog } from '@relay/telemetry';
import type { Webhook } from '@relay/webhooks';
import type { CatchUpPartition } from '../log/catch-up-partition.js';
import { ExpiryWatch, type RetentionReports } from './expiry-watch.js';

const DAY = 86_400_000;
const NOW = 100 * DAY;

describe('the watch over backlogs', () => {
  let told: unknown[];
  let asked: number[];
  let lines: string[];
  let age: number | Error;
  let rests: Record<string, { from: number; to?: number } | undefined>;
  let lowest: number;
  let retentionDays: number;
  let passed: unknown[];
  let watch: ExpiryWatch;
  beforeEach(() => {
    [told, asked, lines, passed] = [[], [], [], []];
    [age, lowest, retentionDays] = [0, 0, 7];
    rests = { w: { from: 5 } };
    const at = { topic: 'task.created', partition: 3 };
    const say = (event: string): void => void lines.push(event);
    const partition = {
      at,
      head: 9,
      get webhookIds() {
        return Object.keys(rests);
      },
      rest: (id: string) => rests[id],
      catchUp: (id: string) =>
        rests[id] && {
          ...rests[id],
          passed: (offset: number) => {
            passed.push([id, offset]);
            rests[id] = { ...rests[id], from: offset };
          },
        },
    } as unknown as CatchUpPartition;
    const archive = {
      lowest: async () => lowest,
      retentionMs: () => retentionDays * DAY,
      recordAt: async (_at: unknown, offset: number) => {
        asked.push(offset);
        if (age instanceof Error) throw age;
        return { offset, timestamp: NOW - age } as LogRecord;
      },
    };
    const reports: Pick<RetentionReports, 'expiring' | 'expired'> = {
      expiring: ({ id }, each, from) => void told.push([id, each.partition, (from - NOW) / DAY]),
      expired: ({ id }, each, records) => void told.push([id, each.partition, `${records} gone`]),
    };
    watch = new ExpiryWatch(
      { catchUpPartitions: () => [partition] },
      { find: (id) => (id === 'deleted' ? undefined : ({ id } as Webhook)) },
      archive,
      reports,
      new ThrottledLog({ warn: say, error: say, info: say, debug: say }),
    );
  });

  it.each([
    [4.9, []],
    [5, [['w', 3, 2]]],
    [6.5, [['w', 3, 0.5]]],
  ])('warns when the oldest record is %p of its seven days old: %j', async (days, expected) => {
    age = days * DAY;
    await watch.look(NOW);
    expect(told).toEqual(expected);
  });

  it.each([
    [30, 6, []],
    [30, 29, [['w', 3, 1]]],
    [1, 0.75, [['w', 3, 0.25]]],
    [Infinity, 400, []],
  ])('warns when the oldest record of a topic that keeps %p days is %p days old: %j', async (kept, days, expected) => {
    [retentionDays, age] = [kept, days * DAY];
    await watch.look(NOW);
    expect(told).toEqual(expected);
  });

  it('warns once a day', async () => {
    age = 5.5 * DAY;
    for (const hours of [0, 1, 23]) await watch.look(NOW + hours * 3_600_000);
    expect(told).toHaveLength(1);
    await watch.look(NOW + DAY);
    expect(told).toHaveLength(2);
  });

  it('reads a record once for all webhooks whose ranges begin there, and none without a backlog', async () => {
    rests = {
      a: { from: 5 },
      b: { from: 5, to: 7 },
      empty: { from: 9 },
      done: { from: 7, to: 7 },
      deleted: { from: 1 },
    };
    age = 6 * DAY;
    await watch.look(NOW);
    expect(asked).toEqual([5]);
    expect(told).toEqual([
      ['a', 3, 1],
      ['b', 3, 1],
    ]);
  });

  it('reports once what retention dropped before it was caught up, and warns of the rest', async () => {
    [lowest, age] = [7, 6 * DAY];
    rests = { a: { from: 4 }, done: { from: 5, to: 6 }, later: { from: 8 } };
    await watch.look(NOW);
    await watch.look(NOW + 1);
    expect(told).toEqual([
      ['a', 3, '3 gone'],
      ['done', 3, '1 gone'],
      ['a', 3, 1],
      ['later', 3, 1],
    ]);
    expect([passed, asked.slice(0, 2)]).toEqual([
      [
        ['a', 7],
        ['done', 7],
      ],
      [7, 8],
    ]);
  });

  it('gives the age of the oldest waiting record, as of its last look, while a backlog exists', async () => {
    rests = { a: { from: 5 }, b: { from: 7 } };
    expect(watch.oldestAgeMs(NOW)).toBe(0);
    age = 2 * DAY;
    await watch.look(NOW);
    expect(watch.oldestAgeMs(NOW + DAY)).toBe(3 * DAY);
    rests = { a: { from: 9 }, b: { from: 9 } };
    expect(watch.oldestAgeMs(NOW + DAY)).toBe(0);
  });

  it('forgets an earlier backlog at the next look, so that a new one does not count as old', async () => {
    age = 2 * DAY;
    await watch.look(NOW);
    rests = { w: { from: 9 } };
    await watch.look(NOW + DAY);
    rests = { w: { from: 8 } };
    expect(watch.oldestAgeMs(NOW + 2 * DAY)).toBe(0);
  });

  it('logs that it cannot look', async () => {
    age = new Error('Kafka is away');
    await watch.look(NOW);
    expect([told, lines]).toEqual([[], ['parking.paused']]);
  });
});
