import { inTurns } from './received.js';

const items = Array.from({ length: 250 }, (_, n) => n);

describe('inTurns', () => {
  it('begins with the items in their order, and lets others have a turn after each hundred', async () => {
    const begun: number[] = [];
    const seen: number[] = [];
    const look = (): void => {
      seen.push(begun.length);
      if (begun.length < items.length) setImmediate(look);
    };
    setImmediate(look);
    const results = await inTurns(items, async (item) => {
      begun.push(item);
      return item * 2;
    });
    expect(results).toEqual(items.map((item) => item * 2));
    expect(begun).toEqual(items);
    expect(seen).toEqual(expect.arrayContaining([100, 200]));
  });

  it('rejects with the error of an item, whenever that was', async () => {
    const fail = (item: number): Promise<number> =>
      item === 7 ? Promise.reject(new Error('7')) : Promise.resolve(item);
    await expect(inTurns(items, fail)).rejects.toThrow('7');
  });
});
