import { dropExpired } from './expired-ranges.js';

const aPartition = (shards?: number) => {
  const passed: number[] = [];
  const range = { from: 10, to: 40, begin: () => undefined, passed: (offset: number) => void passed.push(offset) };
  const at = { topic: 'task.created', partition: 0, ...(shards === undefined ? {} : { shard: 0, shards }) };
  return { at, passed, catchUp: () => range };
};

describe('what retention took from a range', () => {
  it.each([
    [undefined, 25, 15],
    [undefined, 60, 30],
    [2, 25, 8],
    [4, 60, 8],
  ])('of %s shards up to offset %i is at most %i records', (shards, lowest, records) => {
    const partition = aPartition(shards);
    expect([dropExpired(partition, 'w', lowest), partition.passed]).toEqual([records, [lowest]]);
  });

  it('is nothing where the log still has its beginning', () => {
    const partition = aPartition();
    expect([dropExpired(partition, 'w', 10), partition.passed]).toEqual([0, []]);
  });
});
