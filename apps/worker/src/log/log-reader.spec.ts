import { jest } from '@jest/globals';
import { LogReader } from './log-reader.js';
import { assigned, read, topic, turn } from './spec-log-reader.js';

describe('the reader of the log', () => {
  it('does not take a log for a new one that has grown since its end was last read', async () => {
    const { reader, log, sought, highWater } = await assigned();
    log.high = 2;
    for (const offset of [0, 1]) reader.reading(topic, 0)[0]?.accept(offset)?.settled();
    await reader.flush();
    reader.reconnected();
    await turn();
    expect(sought).toEqual([0, 2]);
    expect(highWater()).toBe(2);
    await reader.close();
  });

  it.each([
    ['is as long again', 10],
    ['is still shorter', 9],
    ['is longer by now', 20],
  ])(
    'reads what stands in the place of records that Kafka lost, when the log %s, and keeps what is parked',
    async (_, high) => {
      const { reader, log, sought, said, highWater, rest } = await read();
      log.times = [...log.times.slice(0, 8), ...Array.from({ length: high - 8 }, () => 5_000_000)];
      log.high = high;
      reader.assigned({ [topic]: [0] });
      await turn();
      await reader.flush();
      expect(said).toEqual([['log.shortened', { topic, partition: 0, from: 8, to: 10, end: high, readFrom: 8 }]]);
      expect([sought, highWater()]).toEqual([[10, 8], 8]);
      expect([rest(), reader.reading(topic, 0)[0]?.accept(8, undefined, 5_000_000)?.isParked('w')]).toEqual([
        { from: 2 },
        true,
      ]);
      // Once: what stands there now was compared.
      reader.assigned({ [topic]: [0] });
      await turn();
      expect(said).toHaveLength(1);
      await reader.close();
    },
  );

  it('reads a minute again before them, because clocks differ', async () => {
    const { reader, log, sought, said } = await read([1_000_000, 1_030_000, 1_060_000, 1_090_000, 1_100_000]);
    [log.high, log.times] = [4, log.times.slice(0, 4)];
    reader.assigned({ [topic]: [0] });
    await turn();
    expect(sought).toEqual([5, 2]);
    expect(said).toEqual([['log.shortened', { topic, partition: 0, from: 4, to: 5, end: 4, readFrom: 2 }]]);
    await reader.close();
  });

  it('reads a log that was created anew from its first record, also by a worker that is started then', async () => {
    const of = await read();
    const { reader, log, sought, said, progress, highWater } = of;
    [log.high, log.times] = [3, [5_000_000, 5_000_000, 5_000_000]];
    const next = new LogReader(progress, reader['bounds'], of.ids, reader['log'], reader['options']);
    const soughtThen: number[] = [];
    next.use({ seek: (_topic, _partition, offset) => soughtThen.push(offset), commit: async () => undefined });
    reader.assigned({});
    await reader.flush();
    next.assigned({ [topic]: [0] });
    await turn();
    await next.flush();
    expect([sought, soughtThen, highWater()]).toEqual([[], [0], 0]);
    expect(said).toEqual([['log.shortened', { topic, partition: 0, from: 0, to: 10, end: 3, readFrom: 0 }]]);
    await Promise.all([reader.close(), next.close()]);
  });

  it('reads the whole log again when nothing shows which of its records were read', async () => {
    const { reader, log, sought, said, rest } = await read(Array.from({ length: 10 }, () => Infinity));
    log.high = 8;
    reader.assigned({ [topic]: [0] });
    await turn();
    expect([sought, rest()]).toEqual([[10, 0], { from: 2 }]);
    expect(said).toEqual([['log.shortened', { topic, partition: 0, from: 8, to: 10, end: 8, readFrom: 0 }]]);
    await reader.close();
  });

  it('goes on as it is while the log is whole', async () => {
    const { reader, sought, said } = await read();
    reader.assigned({ [topic]: [0] });
    await turn();
    expect([sought, said, reader.reading(topic, 0)[0]?.restarts]).toEqual([[10], [], 1]);
    await reader.close();
  });

  it('compares all of many partitions in turn, and writes what a catch-up of a quiet one brings', async () => {
    const of = await assigned();
    await of.reader.close();
    const partitions = Array.from({ length: 300 }, (_, partition) => partition);
    for (const partition of partitions) await of.progress.own({ topic, partition }, '', { start: 0, take: true });
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick'] });
    const intervals = { flushEveryMs: 20, compareEveryMs: 3_000 };
    const options = { ...of.reader['options'], ...intervals };
    const reader = new LogReader(of.progress, of.reader['bounds'], of.ids, of.reader['log'], options);
    reader.use({ seek: () => undefined, commit: async () => undefined });
    reader.assigned({ [topic]: partitions });
    await turn();
    const flush = jest.spyOn(of.progress, 'flush');
    const flushed = (): number => new Set(flush.mock.calls.map(([{ partition }]) => partition)).size;
    await jest.advanceTimersByTimeAsync(3_100);
    expect(flushed()).toBe(256);
    await jest.advanceTimersByTimeAsync(3_000);
    expect(flushed()).toBe(300);
    flush.mockClear();
    const quiet = reader.catchUpPartitions()[270];
    quiet?.replay('r', [{ from: 0, to: 1 }], { done: 0, failed: 0 });
    quiet?.catchUp('r')?.begin(0)?.();
    await jest.advanceTimersByTimeAsync(200);
    expect(flush.mock.calls.map(([{ partition }]) => partition)).toEqual([270]);
    jest.useRealTimers();
    await reader.close();
  });

  it('begins a log again when Redis has lost its beginning and nothing was committed', async () => {
    const { reader, log, sought, state, highWater } = await assigned();
    log.high = 2;
    for (const offset of [0, 1]) reader.reading(topic, 0)[0]?.accept(offset)?.settled();
    await reader.flush();
    state.now.progress.clear();
    reader.reconnected();
    await turn();
    expect([sought, highWater(), reader.fault]).toEqual([[0, 0], 0, undefined]);
    await reader.close();
  });

  it('reads nothing of a log with a commit of which Redis knows nothing, and logs it', async () => {
    const { reader, log, sought, state } = await assigned();
    log.high = 2;
    for (const offset of [0, 1]) reader.reading(topic, 0)[0]?.accept(offset)?.settled();
    await reader.flush();
    log.committed = 2;
    state.now.progress.clear();
    reader.reconnected();
    await turn();
    expect([sought, reader.fault]).toEqual([[0], expect.stringContaining('`relay recover`')]);
    await reader.close();
  });

  it('reads all of a log again with a commit of which a Redis that was not lost knows nothing, and drops no record of it', async () => {
    const { reader, log, said, sought, state, progress } = await assigned();
    [log.low, log.high, log.committed] = [1, 3, 2];
    await progress.rememberKnown([{ topic, partition: 0 }]);
    state.now.progress.clear();
    reader.reconnected();
    await turn();
    expect([sought, reader.fault]).toEqual([[0, 1], undefined]);
    expect(said).toEqual([['log.begun_again', { topic, partition: 0, committed: 2, readFrom: 1 }]]);
    const records = [1, 2].map((offset) => reader.reading(topic, 0)[0]?.accept(offset)?.isReadAgain);
    expect(records).toEqual([true, false]);
    await reader.close();
  });

  it('reports that a partition cannot be owned once Redis has refused it for 20 s, until it is owned', async () => {
    const { reader, progress } = await assigned();
    const own = jest.spyOn(progress, 'own').mockRejectedValue(new Error('MISCONF Redis cannot save'));
    jest.useFakeTimers({ doNotFake: ['setImmediate'] });
    try {
      reader.reconnected();
      await turn();
      expect(reader.fault).toBeUndefined();
      for (let second = 0; second < 22; second += 1) {
        await jest.advanceTimersByTimeAsync(1_000);
        reader.heartbeat();
      }
      expect(reader.fault).toMatch(/^task\.created\/0 cannot be owned: .*MISCONF/);
      own.mockRestore();
      await jest.advanceTimersByTimeAsync(2_000);
      expect(reader.fault).toBeUndefined();
    } finally {
      own.mockRestore();
      jest.useRealTimers();
      await reader.close();
    }
  });

  it('reports that a partition cannot be owned once it has waited for 20 s without an answer, until it gets one', async () => {
    const { reader, progress } = await assigned();
    let answer = (): void => undefined;
    const own = jest.spyOn(progress, 'own').mockImplementation(async () => {
      await new Promise<void>((resolve) => (answer = resolve));
      return { highWater: 0, sequence: 1 };
    });
    jest.useFakeTimers({ doNotFake: ['setImmediate'] });
    try {
      reader.reconnected();
      await jest.advanceTimersByTimeAsync(19_000);
      reader.heartbeat();
      expect(reader.fault).toBeUndefined();
      await jest.advanceTimersByTimeAsync(2_000);
      expect(reader.fault).toMatch(/^task\.created\/0 cannot be owned: there is no answer yet/);
      answer();
      await turn();
      expect(reader.fault).toBeUndefined();
    } finally {
      own.mockRestore();
      jest.useRealTimers();
      await reader.close();
    }
  });

  it('reports and counts records that retention deleted before they were read', async () => {
    const { reader, log, said } = await assigned();
    log.low = 5;
    reader.overtaken(topic, 0, [{ from: 2, to: await reader.lowest(topic, 0) }]);
    reader.overtaken(topic, 0, []);
    expect(said).toEqual([
      ['expired', 3],
      ['log.expired', { topic, partition: 0, from: 2, to: 5, records: 3 }],
    ]);
    await reader.close();
  });

  it('commits what the log holds no record of, once nothing before it runs', async () => {
    const { reader, commits } = await assigned();
    const [first] = reader.reading(topic, 0);
    const running = first?.accept(0);
    first?.foundEmpty(1, 1_501);
    for (let time = 0; time < 2; time += 1) await reader.commit();
    expect(commits).toEqual([]);
    running?.settled();
    await reader.flush();
    for (let time = 0; time < 2; time += 1) await reader.commit();
    expect(commits).toEqual(['1501']);
  });

  it('commits offsets that the store has kept for an interval, and all of them at the end', async () => {
    const { reader, log, commits } = await assigned();
    log.high = 3;
    for (const offset of [0, 1]) reader.reading(topic, 0)[0]?.accept(offset)?.settled();
    await reader.flush();
    await reader.commit();
    expect(commits).toEqual([]);
    reader.reading(topic, 0)[0]?.accept(2)?.settled();
    await reader.flush();
    await reader.commit();
    expect(commits).toEqual(['2']);
    await reader.close();
    expect(commits).toEqual(['2', '3']);
  });

  it('releases its partitions at the end although Kafka does not answer the last commit', async () => {
    const { reader, log, progress } = await assigned();
    log.high = 1;
    reader.reading(topic, 0)[0]?.accept(0)?.settled();
    jest.spyOn(reader, 'commit').mockReturnValue(new Promise(() => undefined));
    void reader.close();
    await turn();
    expect(await progress.own({ topic, partition: 0 }, 'next', { take: false })).toMatchObject({ highWater: 1 });
  });
});
