import { setTimeout as delay } from 'node:timers/promises';
import type { DeliveredLine } from '@relay/history';
import { ThrottledLog } from '@relay/telemetry';
import { HistoryWriter } from './history-writer.js';

const aLine = (envelopeId: string): DeliveredLine => ({ webhookId: 'w', envelopeId, attempts: [] });

describe('HistoryWriter', () => {
  const said: string[] = [];
  const log = { debug: () => {}, info: () => {}, error: () => {}, warn: (event: string) => void said.push(event) };
  let written: string[];
  let isAway: boolean;
  let isScarce: boolean;
  let teller: HistoryWriter;
  beforeEach(() => {
    [written, isAway, isScarce] = [[], false, false];
    said.length = 0;
    const add = async (lines: readonly DeliveredLine[]): Promise<void> => {
      await delay(1);
      if (isAway) throw new Error('away');
      written.push(...lines.map(({ envelopeId }) => envelopeId));
    };
    teller = new HistoryWriter(
      { add },
      {
        get isMemoryScarce() {
          return isScarce;
        },
      },
      new ThrottledLog(log),
    );
  });
  afterEach(() => teller.close());

  const tell = (count: number, from = 0): string[] => {
    const ids = Array.from({ length: count }, (_, index) => String(from + index));
    for (const id of ids) teller.delivered(aLine(id));
    return ids;
  };

  it('writes what it was told in its order, all of it before it closes', async () => {
    const ids = tell(1_200);
    await teller.close();
    expect(written).toEqual(ids);
  });

  it('writes again what the store did not take', async () => {
    isAway = true;
    const ids = tell(3);
    await delay(300);
    expect([written, said]).toEqual([[], ['history.delayed']]);
    isAway = false;
    const more = tell(1, 3);
    await teller.close();
    expect(written).toEqual([...ids, ...more]);
  });

  it('leaves out what memory is too scarce for, and what it cannot keep while the store is away, and says so', async () => {
    isScarce = true;
    tell(1);
    expect(said).toEqual(['history.left_out']);
    isScarce = false;
    const ids = tell(20_001);
    await teller.close();
    expect(written).toEqual(ids.slice(0, 20_000));
  });
});
