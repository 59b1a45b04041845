import { RedisPartitionProgress } from '@relay/progress';
import { onlyShard } from '@relay/redis';
import { PinoLog } from '@relay/telemetry';
import { redisOfSpec } from '@relay/testing';
import type { LogLoss } from './log-loss.js';
import { PartitionReader } from './partition-reader.js';

const { redis } = await redisOfSpec();

const at = { topic: 'task.created', partition: 3 };
const PARKED = '{relay:0}:parked';
const log = new PinoLog('spec', 'silent');

describe('the backlog of a parked webhook in a partition', () => {
  const progress = new RedisPartitionProgress(onlyShard(redis), 72 * 3_600_000);
  beforeEach(() => redis.flushall());

  const started = async (from = 0, loss?: LogLoss): Promise<PartitionReader> => {
    const reader = new PartitionReader(at, progress, log, 100);
    await reader.own(from, async () => loss);
    return reader;
  };
  /** Hands out ten records, of which the webhook gets none from the fourth on. */
  async function aBacklog(): Promise<PartitionReader> {
    const reader = await started();
    for (let offset = 0; offset < 10; offset += 1) {
      const record = reader.accept(offset);
      if (offset === 3) record?.park('w');
      expect(record?.isParked('w')).toBe(offset >= 3);
      if (offset === 5) record?.markDuplicate();
      record?.settled();
    }
    await reader.flush();
    return reader;
  }
  const ranges = async () => Object.fromEntries((await progress.parking(at)).ranges);

  it('is written with the flush that settles it, and goes on under the next owner', async () => {
    await aBacklog();
    expect(await ranges()).toEqual({ w: [{ from: 3 }] });
    expect([await redis.smembers(PARKED), await redis.hgetall(`${PARKED}:w`)]).toEqual([
      ['w'],
      { 'task.created/3': '3-' },
    ]);
    const next = await started();
    expect(next.accept(10)?.isParked('w')).toBe(true);
    expect(next.catchUpPartition()?.rest('w')).toEqual({ from: 3 });
    expect(next.catchUpPartition()?.waiting).toBe(8);
  });

  it('does not count as looked at if that happened while its ownership was in doubt', async () => {
    const reader = await aBacklog();
    const before = reader.catchUpPartition();
    reader.doubt();
    expect([before?.rest('w'), before?.catchUp('w')?.begin(3)]).toEqual([undefined, undefined]);
    await reader.own();
    before?.catchUp('w')?.passed(8);
    expect([before?.goesOn, reader.catchUpPartition()?.rest('w')]).toEqual([false, { from: 3 }]);
  });

  it('is caught up to the cursor that is written, without duplicates, and is gone when it is closed and settled', async () => {
    const catching = (await aBacklog()).catchUpPartition();
    const settle = [3, 4, 5, 6].map((offset) => catching?.catchUp('w')?.begin(offset));
    expect(settle.map((each) => each !== undefined)).toEqual([true, true, false, true]);
    settle[1]?.();
    const next = async (): Promise<unknown> => {
      const reader = await started();
      return reader.catchUpPartition()?.rest('w');
    };
    expect(await next()).toEqual({ from: 3 });

    const reader = await started();
    const again = reader.catchUpPartition();
    for (const offset of [3, 4, 6, 7]) again?.catchUp('w')?.begin(offset)?.();
    again?.catchUp('w')?.passed(8);
    await reader.flush();
    expect(await ranges()).toEqual({ w: [{ from: 8 }] });
    again?.close('w');
    again?.catchUp('w')?.passed(10);
    await reader.flush();
    expect([await ranges(), await redis.keys(`${PARKED}*`)]).toEqual([{}, []]);
    expect(reader.accept(10)?.isParked('w')).toBe(false);
  });

  it('is ended by its owner before the partition is released, and no more of it is begun', async () => {
    const reader = await aBacklog();
    const catching = reader.catchUpPartition();
    const settled = catching?.catchUp('w')?.begin(3);
    reader.leave();
    expect([catching?.goesOn, catching?.catchUp('w')?.begin(4)]).toEqual([false, undefined]);
    await reader.flush();
    expect(reader.over).toBe(false);
    settled?.();
    await reader.flush();
    await reader.flush();
    expect([reader.over, await ranges()]).toEqual([true, { w: [{ from: 4 }] }]);
  });

  it('has the job of a delivery stored again when Redis comes back without it', async () => {
    const reader = await aBacklog();
    let added = 0;
    reader.catchUpPartition()?.catchUp('w')?.begin(3)?.(async () => void (added += 1));
    reader.doubt();
    await reader.own();
    expect(added).toBe(1);
    await reader.flush();
    expect(await ranges()).toEqual({ w: [{ from: 4 }] });
  });

  it('is forgotten when the webhook is deleted', async () => {
    const reader = await aBacklog();
    reader.catchUpPartition()?.forget('w');
    await reader.flush();
    expect([await ranges(), await redis.exists(PARKED)]).toEqual([{}, 0]);
  });

  it('stays when Kafka loses the end of the log, without what was dropped there, and is written before anything is read', async () => {
    await aBacklog();
    const loss = { from: 6, to: 10, end: 8, sameBelow: 5 };
    const reader = await started(0, loss);
    expect(reader.next).toBe(5);
    await reader.flush();
    const { dropped, next } = await progress.parking(at);
    expect([await ranges(), dropped, next]).toEqual([{ w: [{ from: 3 }] }, [], 8]);
    expect(await redis.hmget('{relay:0}:progress:task.created:3', 'highWater', 'read')).toEqual(['5', '5 0']);
    const record = reader.accept(5);
    expect(record?.isParked('w')).toBe(true);
    record?.markDuplicate();
    expect(reader.catchUpPartition()?.catchUp('w')?.begin(5)).toBeDefined();
  });

  it('keeps a partial mark that was found, and drops it with the envelope', async () => {
    const mark = { id: '00000000-0000-4000-8000-000000000001', hash: 'aaaaaaaaaaaaaaaa' };
    const dead = await started();
    dead.accept(0)?.webhookSettled(mark.id, 'a');
    await dead.flush();
    const reader = await started();
    const record = reader.accept(0);
    record?.marked({ id: mark.id, webhookIds: ['a'] });
    record?.webhookSettled(mark.id, 'b');
    await reader.flush();
    expect((await progress.partials(at, [mark.id])).get(mark.id)).toEqual(new Set(['a', 'b']));
    record?.settled(mark);
    await reader.flush();
    expect(await redis.exists('{relay:0}:partial:task.created:3')).toBe(0);
  });
});
