import { RedisPartitionProgress } from '@relay/progress';
import { connectRedis, onlyShard } from '@relay/redis';
import { PinoLog } from '@relay/telemetry';
import { startRedisServer, redisOfSpec } from '@relay/testing';
import { PartitionReader } from './partition-reader.js';

const { redis } = await redisOfSpec();

const at = { topic: 'task.created', partition: 3 };
const mark = (n: number) => ({
  id: `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`,
  hash: 'aaaaaaaaaaaaaaaa',
});
const log = new PinoLog('spec', 'silent');

describe('partition reader', () => {
  const progress = new RedisPartitionProgress(onlyShard(redis), 72 * 3_600_000);
  beforeEach(() => redis.flushall());

  const started = async (from = 0): Promise<PartitionReader> => {
    const reader = new PartitionReader(at, progress, log, 100);
    await reader.own(from);
    return reader;
  };
  const stored = () => redis.hget('{relay:0}:progress:task.created:3', 'highWater');

  it('hands nothing out before it owns the partition', async () => {
    const reader = new PartitionReader(at, progress, log);
    expect(reader.accept(0)).toBeUndefined();
    expect(await reader.own()).toBeUndefined();
    expect(reader.state).toBe('owning');
    expect(await reader.own(5)).toBe(5);
    expect(reader.accept(4)).toBeUndefined();
    expect(reader.accept(5)).toBeDefined();
  });

  it('writes the high water up to the first running record, and marks beyond it', async () => {
    const reader = await started();
    const [first, second] = [reader.accept(0), reader.accept(1)];
    second?.settled(mark(1));
    await reader.flush();
    expect(await stored()).toBe('0');
    expect((await progress.lookUp(at, [mark(0), mark(1)])).results).toEqual(['open', 'duplicate']);
    first?.settled(mark(0));
    await reader.flush();
    expect(await stored()).toBe('2');
    expect(reader.settledTo).toBe(2);
  });

  it('marks the settled webhooks of a running envelope, and deletes the marks when all of it is settled', async () => {
    const reader = await started();
    const record = reader.accept(0);
    record?.webhookSettled(mark(0).id, 'w1');
    await reader.flush();
    expect((await progress.partials(at, [mark(0).id])).get(mark(0).id)).toEqual(new Set(['w1']));
    record?.settled(mark(0));
    await reader.flush();
    expect((await progress.partials(at, [mark(0).id])).get(mark(0).id)).toEqual(new Set());
  });

  it('is refused once another worker owns the partition, and reads again from its position', async () => {
    const [old, other] = [await started(), await started()];
    const record = old.accept(0);
    other.accept(0)?.settled();
    await other.flush();
    record?.settled();
    await old.flush();
    expect(old.state).toBe('doubtful');
    expect(old.accept(1)).toBeUndefined();
    expect(await old.own()).toBe(1);
    expect(old.state).toBe('reading');
  });

  it('reads again from the position of a Redis that went back in time', async () => {
    const reader = await started();
    for (let offset = 0; offset < 10; offset += 1) reader.accept(offset)?.settled(mark(offset));
    await reader.flush();
    await redis.hset('{relay:0}:progress:task.created:3', { highWater: 4, sequence: 3 });
    reader.accept(10)?.settled(mark(10));
    await reader.flush();
    expect(reader.state).toBe('doubtful');
    expect(await reader.own()).toBe(4);
    expect(reader.accept(4)).toBeDefined();
  });

  it('notices that Redis went back even if only marks were lost, because each flush has a number', async () => {
    const reader = await started();
    reader.accept(0);
    reader.accept(1)?.settled(mark(1));
    await reader.flush();
    await redis.hset('{relay:0}:progress:task.created:3', { sequence: 1 });
    reader.accept(2)?.settled(mark(2));
    await reader.flush();
    expect(reader.state).toBe('doubtful');
  });

  it('takes no record of a batch that was fetched before the reader began anew, so that no record in between counts as settled', async () => {
    const reader = await started();
    const { restarts } = reader;
    for (let offset = 0; offset < 10; offset += 1) reader.accept(offset, restarts)?.settled(mark(offset));
    await reader.flush();
    await redis.hset('{relay:0}:progress:task.created:3', { highWater: 4, sequence: 1 });
    await reader.flush(true);
    expect(await reader.own()).toBe(4);
    expect(reader.accept(10, restarts)).toBeUndefined();
    expect(reader.next).toBe(4);
    expect(reader.accept(4)).toBeDefined();
  });

  it('goes on after a reconnect where Redis holds the last write, and repeats later adds', async () => {
    const reader = await started();
    reader.accept(0)?.settled(mark(0));
    await reader.flush();
    const repeated: string[] = [];
    const record = reader.accept(1);
    record?.added(async () => void repeated.push('job of 1'));
    record?.settled(mark(1));
    const running = reader.accept(2);
    reader.doubt();
    expect(await reader.own()).toBe(3);
    expect(repeated).toEqual(['job of 1']);
    running?.settled(mark(2));
    await reader.flush();
    expect(await stored()).toBe('3');
    reader.doubt();
    await reader.own();
    expect(repeated).toEqual(['job of 1']);
  });

  it('reads again where Redis went back behind its ownership: jobs of the earlier owner may be lost', async () => {
    const crashed = await started();
    crashed.accept(0);
    const before = await redis.dumpBuffer('{relay:0}:progress:task.created:3');
    const reader = await started();
    const { restarts } = reader;
    reader.accept(0)?.settled(mark(0));
    await redis.restore('{relay:0}:progress:task.created:3', 0, before ?? '', 'REPLACE');
    reader.doubt();
    expect(await reader.own()).toBe(0);
    expect(reader.restarts).toBe(restarts + 1);
    expect(reader.accept(0)).toBeDefined();
  });

  it('says of a record whether it may have been handed out before: as far as the last flush had read', async () => {
    const crashed = await started();
    for (const offset of [0, 1, 2]) expect(crashed.accept(offset)?.isReadAgain).toBe(false);
    crashed.accept(3)?.settled(mark(3));
    await crashed.flush();
    crashed.accept(4);
    const reader = await started();
    expect([0, 1, 2, 3, 4, 5].map((offset) => reader.accept(offset)?.isReadAgain)).toEqual([
      true,
      true,
      true,
      true,
      false,
      false,
    ]);
  });

  it('knows an envelope from its beginning until its mark is written, because a repeat may have been looked up before', async () => {
    const reader = await started();
    const record = reader.accept(0);
    record?.begun(mark(0));
    await reader.flush();
    expect(reader.hashOf(mark(0).id)).toBe(mark(0).hash);
    record?.settled(mark(0));
    expect(reader.hashOf(mark(0).id)).toBe(mark(0).hash);
    await reader.flush();
    expect(reader.hashOf(mark(0).id)).toBeUndefined();
    reader.accept(1)?.settled(mark(1));
    await redis.hset('{relay:0}:progress:task.created:3', { highWater: 0, sequence: 0 });
    await reader.flush();
    await reader.own();
    expect(reader.hashOf(mark(1).id)).toBeUndefined();
  });

  it('ignores deliveries from before Redis went back: their records are read again', async () => {
    const reader = await started();
    const running = reader.accept(0);
    reader.accept(1)?.settled(mark(1));
    await redis.hset('{relay:0}:progress:task.created:3', { sequence: 99 });
    await reader.flush(true);
    expect(await reader.own()).toBe(0);
    running?.settled(mark(0));
    reader.accept(0);
    await reader.flush(true);
    expect(await stored()).toBe('0');
    expect((await progress.lookUp(at, [mark(0)])).results).toEqual(['open']);
  });

  it('writes the content of a failed flush with the next one, whether or not Redis has it', async () => {
    const own = await startRedisServer();
    const client = connectRedis(
      { REDIS_URL: own.url(), REDIS_SENTINELS: [], REDIS_SENTINEL_NAME: '' },
      'command',
      () => undefined,
    );
    await new Promise((resolve) => client.once('ready', resolve));
    const reader = new PartitionReader(at, new RedisPartitionProgress(onlyShard(client), 72 * 3_600_000), log);
    await reader.own(0);
    reader.accept(0)?.settled(mark(0));
    const back = new Promise((resolve) => client.once('ready', resolve));
    client.disconnect(true);
    await reader.flush();
    expect(reader.state).toBe('doubtful');
    await back;
    expect(await reader.own()).toBe(1);
    await reader.flush();
    expect(reader.settledTo).toBe(1);
    expect(await client.hget('{relay:0}:progress:task.created:3', 'highWater')).toBe('1');
    const { results } = await new RedisPartitionProgress(onlyShard(client), 72 * 3_600_000).lookUp(at, [mark(0)]);
    expect(results).toEqual(['duplicate']);
    client.disconnect();
    await own.stop();
  });

  it('offers the marks of a partition that left until they are written, then releases it', async () => {
    const reader = await started();
    const record = reader.accept(0);
    reader.leave();
    expect(reader.accept(1)).toBeUndefined();
    expect(reader.over).toBe(false);
    record?.settled(mark(0));
    expect(reader.over).toBe(false);
    await reader.flush();
    expect(await stored()).toBe('1');
    expect(reader.over).toBe(false);
    await reader.flush();
    expect(reader.over).toBe(true);
    expect(await redis.hget('{relay:0}:progress:task.created:3', 'owner')).toBe('');
  });

  it('waits for the earlier owner to end its running deliveries, so that none is attempted twice', async () => {
    const reader = await started();
    const record = reader.accept(0);
    reader.leave();
    const next = new PartitionReader(at, progress, log);
    const owned = next.own();
    await reader.flush();
    expect(reader.over).toBe(false);
    record?.settled(mark(0));
    await reader.flush();
    await reader.flush();
    expect(reader.over).toBe(true);
    expect(await owned).toBe(1);
    expect((await progress.lookUp(at, [mark(0)])).results).toEqual(['duplicate']);
  });

  it('forgets a partition that left as soon as another worker owns it', async () => {
    const reader = await started();
    const record = reader.accept(0);
    reader.leave();
    await started();
    record?.settled(mark(0));
    await reader.flush();
    expect(reader.over).toBe(true);
    expect(await stored()).toBe('0');
  });
});
