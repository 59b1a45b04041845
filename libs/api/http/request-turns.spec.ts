import { setImmediate as turn } from 'node:timers/promises';
import { RequestTurns } from './connections.js';

describe('RequestTurns', () => {
  it('begins eight in a turn of the event loop, the others in later turns in their order', async () => {
    const turns = new RequestTurns();
    const begun: number[] = [];
    const take = (from: number, to: number): void => {
      for (let n = from; n < to; n += 1) turns.take(() => begun.push(n));
    };
    const counts: number[] = [];
    take(0, 20);
    for (let n = 0; n < 4; n += 1) {
      counts.push(begun.length);
      await turn();
      if (n === 0) take(20, 22);
    }
    expect(counts).toEqual([8, 16, 22, 22]);
    expect(begun).toEqual(Array.from({ length: 22 }, (_, n) => n));
  });

  it('begins 64 light ones, which cost an eighth, and passes over none that waits', async () => {
    const turns = new RequestTurns();
    const begun: string[] = [];
    const take = (name: string, count: number, isLight: boolean): void => {
      for (let n = 0; n < count; n += 1) turns.take(() => begun.push(name), isLight);
    };
    take('light', 60, true);
    take('heavy', 1, false);
    take('last', 4, true);
    expect(begun).toHaveLength(60);
    await turn();
    expect(begun.slice(60)).toEqual(['heavy', 'last', 'last', 'last', 'last']);
    take('more', 70, true);
    await turn();
    expect(begun.slice(65)).toHaveLength(70);
  });

  it('begins one that arrives later behind those that wait', async () => {
    const turns = new RequestTurns();
    const begun: string[] = [];
    for (let n = 0; n < 17; n += 1) turns.take(() => begun.push('early'));
    await turn();
    turns.take(() => begun.push('late'));
    expect(begun).toHaveLength(16);
    await turn();
    expect(begun.slice(16)).toEqual(['early', 'late']);
  });
});
