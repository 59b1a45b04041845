import { dropExpired, dropGap } from './expiry-watch.js';

const aPartition = (shards?: number) => {
  const passed: number[] = [];
  const range = { from: 10, to: 40, begin: () => undefined, passed: (offset: number) => void passed.push(offset) };
  const at = { topic: 'task.created', partition: 0, ...(shards === undefined ? {} : { shard: 0, shards }) };
  return { at, passed, catchUp: () => range };
};

describe('the part of a range that retention has removed', () => {
  it.each([
    [undefined, 25, 15],
    [undefined, 60, 30],
    [2, 25, 8],
    [4, 60, 8],
  ])('with %s shards and the lowest offset %i is at most %i records', (shards, lowest, records) => {
    const partition = aPartition(shards);
    expect([dropExpired(partition, 'w', lowest), partition.passed]).toEqual([records, [lowest]]);
  });

  it('is nothing where the log still has its beginning', () => {
    const partition = aPartition();
    expect([dropExpired(partition, 'w', 10), partition.passed]).toEqual([0, []]);
  });

  it.each<[name: string, from: number, to: number, shards: number | undefined, records: number, passed: number[]]>([
    ['counts inside of the range', 20, 25, undefined, 5, [25]],
    ['counts from where the range begins', 5, 25, undefined, 15, [25]],
    ['counts up to where the range ends', 35, 60, undefined, 5, [60]],
    ['counts by its share of several shards', 20, 25, 2, 3, [25]],
    ['counts nothing before the range', 5, 10, undefined, 0, []],
    ['counts nothing behind the range', 40, 60, undefined, 0, [60]],
  ])('as a gap %s', (_name, from, to, shards, records, passed) => {
    const partition = aPartition(shards);
    expect([dropGap(partition, partition.catchUp(), { from, to }), partition.passed]).toEqual([records, passed]);
  });
});
