import { setTimeout as delay } from 'node:timers/promises';
import type { DeliveredLine } from '@relay/history';
import { ThrottledLog } from '@relay/telemetry';
import { HistoryWriter, ShardHistoryWriter } from './history-writer.js';

const aLine = (envelopeId: string): DeliveredLine => ({
  webhookId: 'w',
  envelopeId,
  acceptedAt: 0,
  series: 0,
  attempts: [],
});

describe('the writer of the history', () => {
  it('writes each line once to its shard, while another shard is away', async () => {
    const said: string[] = [];
    const log = { debug: () => {}, info: () => {}, error: () => {}, warn: (event: string) => void said.push(event) };
    const written: string[][] = [[], []];
    const counted: number[][] = [[], []];
    let isAway = true;
    const parts = written.map((lines, shard) => {
      const assertThere = (): void => {
        if (isAway && shard === 1) throw new Error('away');
      };
      return new ShardHistoryWriter(
        { add: async (added) => (assertThere(), void lines.push(...added.map(({ envelopeId }) => envelopeId))) },
        { add: async (news) => (assertThere(), void counted[shard]?.push(...news.map(({ failed }) => failed))) },
        { isMemoryScarce: false },
        new ThrottledLog(log),
        20_000,
      );
    });
    const of = (envelopeId: string): ShardHistoryWriter => parts[Number(envelopeId) % 2] as ShardHistoryWriter;
    const writer = new HistoryWriter({ all: parts, of });
    const tell = (id: string): void => {
      writer.of(id).delivered(aLine(id));
      writer.of(id).failed('w', { at: 1, durationMs: 1, status: 500 });
    };
    for (const id of ['0', '1', '2', '3']) tell(id);
    while (written[0]?.length !== 2 || !said.includes('history.delayed')) await delay(10);
    expect([written, counted]).toEqual([
      [['0', '2'], []],
      [[2], []],
    ]);
    isAway = false;
    tell('4');
    await writer.close();
    expect([written, counted]).toEqual([
      [
        ['0', '2', '4'],
        ['1', '3'],
      ],
      [[2, 1], [2]],
    ]);
  });
});
