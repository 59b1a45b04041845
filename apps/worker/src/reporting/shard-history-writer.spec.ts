import { setTimeout as delay } from 'node:timers/promises';
import type { DeliveredLine, NewAttempts } from '@relay/history';
import { ThrottledLog } from '@relay/telemetry';
import { ShardHistoryWriter } from './history-writer.js';

const aLine = (envelopeId: string): DeliveredLine => ({
  webhookId: 'w',
  envelopeId,
  acceptedAt: 0,
  series: 0,
  attempts: [],
});

describe('the writer of the history of a shard', () => {
  const said: string[] = [];
  const log = { debug: () => {}, info: () => {}, error: () => {}, warn: (event: string) => void said.push(event) };
  let written: string[];
  let counted: (readonly NewAttempts[])[];
  let isAway: boolean;
  let isScarce: boolean;
  let writer: ShardHistoryWriter;
  beforeEach(() => {
    [written, counted, isAway, isScarce] = [[], [], false, false];
    said.length = 0;
    const add = async (lines: readonly DeliveredLine[]): Promise<void> => {
      await delay(1);
      if (isAway) throw new Error('away');
      written.push(...lines.map(({ envelopeId }) => envelopeId));
    };
    const count = async (attempts: readonly NewAttempts[]): Promise<void> => {
      if (isAway) throw new Error('away');
      counted.push(attempts);
    };
    writer = new ShardHistoryWriter(
      { add },
      { add: count },
      {
        get isMemoryScarce() {
          return isScarce;
        },
      },
      new ThrottledLog(log),
      20_000,
    );
  });
  afterEach(() => writer.close());

  const tell = (count: number, from = 0): string[] => {
    const ids = Array.from({ length: count }, (_, index) => String(from + index));
    for (const id of ids) writer.delivered(aLine(id));
    return ids;
  };

  it('writes all lines in their order before it closes', async () => {
    const ids = tell(1_200);
    await writer.close();
    expect(written).toEqual(ids);
  });

  it('writes lines again that the store did not take', async () => {
    isAway = true;
    const ids = tell(3);
    while (said.length === 0) await delay(10);
    expect([written, said]).toEqual([[], ['history.delayed']]);
    isAway = false;
    const more = tell(1, 3);
    await writer.close();
    expect(written).toEqual([...ids, ...more]);
  });

  it('leaves out lines while memory is scarce or too many wait for the store, and logs it', async () => {
    isScarce = true;
    tell(1);
    expect(said).toEqual(['history.left_out']);
    isScarce = false;
    const ids = tell(20_001);
    await writer.close();
    expect(written).toEqual(ids.slice(0, 20_000));
  });

  it('counts attempts of a webhook together, also without their lines, and those that the store did not take at first', async () => {
    isAway = true;
    for (const at of [1, 2]) writer.failed('w', { at, durationMs: 1, status: 500 });
    isScarce = true;
    tell(2);
    isScarce = false;
    await delay(300);
    expect(counted).toEqual([]);
    isAway = false;
    writer.failed('w', { at: 3, durationMs: 1, error: 'reset' });
    writer.failed('v', { at: 4, durationMs: 1, error: 'reset' });
    writer.answered('v', { at: 5, durationMs: 1, status: 204, answer: 'fine' });
    await writer.close();
    expect(counted).toEqual([
      [
        { webhookId: 'w', failed: 3, delivered: 2, last: { at: 3, durationMs: 1, error: 'reset' } },
        {
          webhookId: 'v',
          failed: 1,
          delivered: 0,
          last: { at: 4, durationMs: 1, error: 'reset' },
          good: { at: 5, durationMs: 1, status: 204, answer: 'fine' },
        },
      ],
    ]);
  });

  it('keeps a good answer that the store did not take at first, and none while memory is scarce', async () => {
    const good = { at: 1, durationMs: 1, status: 204, answerHeaders: { server: 'a' } };
    isAway = true;
    writer.answered('w', good);
    await delay(300);
    isAway = false;
    isScarce = true;
    writer.answered('v', good);
    await writer.close();
    expect(counted).toEqual([[{ webhookId: 'w', failed: 0, delivered: 0, last: undefined, good }]]);
  });
});
