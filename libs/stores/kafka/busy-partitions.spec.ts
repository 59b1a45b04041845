import { BusyPartitions, type FetchedBatch } from './busy-partitions.js';

const batch = (partition: number, isEmpty = false): FetchedBatch => ({ topic: 'a', partition, isEmpty: () => isEmpty });
const MANY = 1_000;
const all = () => true;

describe('the busy partitions of a consumer', () => {
  it('are fetched alone until all partitions are due again', () => {
    const busy = new BusyPartitions();
    expect(busy.choose(0, MANY, all)).toBeUndefined();
    busy.saw([batch(1), batch(2, true), batch(7)], 20);
    expect(busy.choose(20, MANY, all)).toEqual({ topics: [{ topic: 'a', partitions: [1, 7] }], waitMs: 180 });
    expect(busy.choose(200, MANY, all)).toBeUndefined();
    expect(busy.choose(201, MANY, all)?.waitMs).toBe(199);
  });

  it('are none if no partition had records in the last second, or they were assigned to another consumer', () => {
    const busy = new BusyPartitions();
    busy.saw([batch(1), batch(2)], 0);
    busy.choose(990, MANY, all);
    busy.saw([batch(2)], 995);
    expect(busy.choose(1_001, MANY, all)?.topics).toEqual([{ topic: 'a', partitions: [2] }]);
    expect(busy.choose(1_002, MANY, (_, partition) => partition !== 2)).toBeUndefined();
    expect(busy.choose(1_003, MANY, all)).toBeUndefined();
  });

  it('are never fetched alone by a consumer of few partitions', () => {
    const busy = new BusyPartitions();
    busy.choose(0, 256, all);
    busy.saw([batch(1)], 1);
    expect(busy.choose(1, 256, all)).toBeUndefined();
  });
});
