import { jest } from '@jest/globals';
import { PinoLog } from '@relay/telemetry';
import { MemoryPartitionProgress, MemoryState } from '@relay/testing';
import { LogReader } from './log-reader.js';
import { PartitionReader } from './partition-reader.js';

const at = { topic: 'task.created', partition: 0 };
const log = new PinoLog('spec', 'silent');
const mark = (n: number) => ({ id: `envelope ${n}`, hash: 'aaaaaaaaaaaaaaaa' });
const turn = (): Promise<void> =>
  new Promise((done) => {
    setImmediate(done);
  });

describe('a partition whose jobs Redis loses', () => {
  let state: MemoryState;
  let progress: MemoryPartitionProgress;
  beforeEach(async () => {
    state = new MemoryState();
    progress = new MemoryPartitionProgress(state);
    await progress.own(at, '', { start: 0, take: true });
  });
  const highWater = (): number | undefined => state.now.progress.get('task.created/0')?.highWater;

  it('is not settled further by a worker that it has left, which cannot know what was lost', async () => {
    const bounds = {
      fetchOffsets: async () => [],
      fetchTopicOffsets: async () => [],
      fetchTopicOffsetsByTimestamp: async () => [],
    };
    const options = { groupId: 'g', topics: () => [], flushEveryMs: 1e9, commitEveryMs: 1e9, compareEveryMs: 1e9 };
    const reader = new LogReader(progress, bounds, { of: async () => undefined }, log, options);
    reader.assigned({ [at.topic]: [0] });
    await turn();
    reader.reading(at.topic, 0)[0]?.accept(0)?.settled(mark(0));
    reader.assigned({});
    reader.reconnected();
    await reader.flush();
    expect(highWater()).toBe(0);
    await reader.close();
  });

  it('is not settled further by a worker that it left before the loss was known', async () => {
    const reader = new PartitionReader(at, progress, log);
    await reader.own();
    reader.accept(0)?.settled(mark(0));
    reader.doubt();
    reader.leave();
    expect(reader.over).toBe(true);
  });

  it('is read on only after the jobs are stored that were lost while they were stored again', async () => {
    const reader = new PartitionReader(at, progress, log);
    await reader.own();
    const stored: string[] = [];
    let answer = (): void => undefined;
    const answered = new Promise<void>((done) => (answer = done));
    const add = (job: string) => async (): Promise<void> => {
      stored.push(job);
      if (job === 'second') await answered;
    };
    for (const [offset, job] of ['first', 'second'].entries()) {
      const record = reader.accept(offset);
      record?.added(add(job));
      record?.settled(mark(offset));
    }
    reader.doubt();
    const owned = reader.own();
    await turn();
    expect(stored).toEqual(['first', 'second']);
    stored.length = 0;
    reader.doubt();
    answer();
    expect(await owned).toBe(2);
    expect(stored).toEqual(['first', 'second']);
  });

  it('goes on where it was when the answer to its claim was lost, and begins anew when Redis went back before the claim', async () => {
    const steps: number[] = [];
    for (const goesBack of [false, true]) {
      const reader = new PartitionReader(at, progress, log, 0);
      await reader.own();
      await reader.flush(true);
      const { restarts } = reader;
      if (goesBack) state.goBack(1);
      const own = jest.spyOn(progress, 'own').mockImplementationOnce(async (...claim) => {
        await progress.own(...claim);
        throw new Error('no answer');
      });
      reader.doubt();
      await expect(reader.own()).rejects.toThrow('no answer');
      await reader.own();
      own.mockRestore();
      steps.push(reader.restarts - restarts);
    }
    expect(steps).toEqual([0, 1]);
  });

  it('goes on where it was when the answers of flushes were lost and more flushes were tried', async () => {
    const reader = new PartitionReader(at, progress, log);
    await reader.own();
    reader.accept(0)?.settled(mark(0));
    const flush = jest.spyOn(progress, 'flush').mockImplementationOnce(async (...write) => {
      await progress.flush(...write);
      throw new Error('no answer');
    });
    await reader.flush();
    flush.mockRejectedValue(new Error('not even sent'));
    for (let time = 0; time < 3; time += 1) await reader.flush(true);
    flush.mockRestore();
    const { restarts } = reader;
    expect(await reader.own()).toBe(1);
    expect([reader.restarts, highWater()]).toEqual([restarts, 1]);
  });

  it('stays released when it leaves while jobs are stored again', async () => {
    const reader = new PartitionReader(at, progress, log);
    await reader.own();
    let answer = (): void => undefined;
    const answered = new Promise<void>((done) => (answer = done));
    const record = reader.accept(0);
    record?.added(() => answered);
    record?.settled(mark(0));
    reader.doubt();
    const owned = reader.own();
    await turn();
    reader.leave();
    answer();
    expect(await owned).toBeUndefined();
    expect(reader.over).toBe(true);
    await reader.flush();
    expect(highWater()).toBe(0);
  });
});
