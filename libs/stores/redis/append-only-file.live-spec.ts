import { randomBytes } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { SmallDisk, startRedisServer, type RedisServer } from '@relay/testing';
import { Redis } from 'ioredis';
import { AppendOnlyFile, readDisk } from './append-only-file.adapter.js';
import { onlyShard } from './shards.js';

const MINUTE_MS = 60_000;

describe('the append-only file of Redis', () => {
  let folder: string;
  let server: RedisServer;
  let redis: Redis;
  let disk: SmallDisk | undefined;
  const connect = async (): Promise<void> => {
    redis = new Redis(server.url(), { maxRetriesPerRequest: null });
    redis.on('error', () => undefined);
    await redis.ping();
  };
  const restart = async (tear?: (file: string) => void): Promise<void> => {
    redis.disconnect();
    await server.stop();
    const files = join(folder, 'appendonlydir');
    tear?.(join(files, readdirSync(files).findLast((name) => name.endsWith('.incr.aof')) ?? ''));
    server = await startRedisServer(server.port, folder);
    await connect();
  };
  /** @param mebibytes size of a disk of its own */
  const open = async (mebibytes?: number): Promise<SmallDisk | undefined> => {
    folder = mkdtempSync(join(tmpdir(), 'relay-aof-'));
    disk = mebibytes === undefined ? undefined : SmallDisk.mount(folder, mebibytes);
    server = await startRedisServer(undefined, folder);
    await connect();
    return disk;
  };
  afterEach(async () => {
    redis.disconnect();
    await server.stop();
    disk?.unmount();
    rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  });

  /** Looks until the file is rewritten, on a clock that is ten minutes further at each look. */
  const rewritten = async (): Promise<void> => {
    const file = new AppendOnlyFile(onlyShard(redis));
    for (let now = 0; !(await file.look(now)).isRewritten; now += 10 * MINUTE_MS) await delay(20);
  };
  const mark = (): Promise<string | null> => redis.get('{relay:0}:rewritten');
  const files = (): string => readdirSync(join(folder, 'appendonlydir')).toSorted().join(' ');

  it('holds nothing of a transaction that was torn, whatever is written behind it', async () => {
    await open();
    await redis.rpush('list', 'before');
    await redis.eval("redis.call('RPUSH', 'list', 'torn') redis.call('SET', 'other', 'torn')", 0);
    await restart((file) => truncateSync(file, readFileSync(file).lastIndexOf('torn') + 2));
    expect(await redis.lrange('list', 0, -1)).toEqual(['before']);
    await rewritten();
    await redis.eval("redis.call('RPUSH', 'list', 'after') redis.call('SET', 'other', 'after')", 0);
    await restart();
    expect(await redis.lrange('list', 0, -1)).toEqual(['before', 'after']);
    expect(await redis.get('other')).toBe('after');
  });

  it('is rewritten once for each start', async () => {
    await open();
    expect((await readDisk(onlyShard(redis))).isRewritten).toBe(false);
    await rewritten();
    const first = files();
    await rewritten();
    expect(files()).toBe(first);
    await restart();
    expect((await readDisk(onlyShard(redis))).isRewritten).toBe(false);
    await rewritten();
    expect(files()).not.toBe(first);
  });

  it('is left alone until writes have gone well for two minutes since this start of Redis', async () => {
    await open();
    const [file, before] = [new AppendOnlyFile(onlyShard(redis)), files()];
    for (const now of [0, MINUTE_MS, 2 * MINUTE_MS - 1]) await file.look(now);
    await restart();
    const next = new AppendOnlyFile(onlyShard(redis));
    for (const now of [5 * MINUTE_MS, 7 * MINUTE_MS - 1]) await next.look(now);
    expect([files(), await mark()]).toEqual([before, null]);
    await next.look(7 * MINUTE_MS);
    expect(await mark()).toMatch(/ asked$/);
  });

  it('is left alone where Redis keeps none', async () => {
    await open();
    await redis.config('SET', 'appendonly', 'no');
    await rewritten();
    expect(await redis.keys('*')).toEqual([]);
  });

  const impossible = SmallDisk.impossible();
  const named = `on a disk of its own${impossible === undefined ? '' : `: skipped, ${impossible}`}`;
  (impossible === undefined ? describe : describe.skip)(named, () => {
    it('is not rewritten again where there is no space for it', async () => {
      const small = await open(24);
      for (let n = 0; n < 8; n += 1) await redis.set(`ballast:${n}`, randomBytes(2 ** 20));
      small?.fill(1_000_000);
      const faults: (string | undefined)[] = [];
      for (let start = 0; start < 3; start += 1) {
        const file = new AppendOnlyFile(onlyShard(redis));
        await file.look(0);
        await file.look(3 * MINUTE_MS);
        // What is written meanwhile needs space too: Redis ends where it has none.
        const writer = redis.duplicate({ retryStrategy: () => null });
        writer.on('error', () => undefined);
        while (/_in_progress:1/.test(await writer.info('persistence').catch(() => '')))
          await writer.set('written', randomBytes(50_000)).catch(() => undefined);
        writer.disconnect();
        await restart();
        faults.push((await readDisk(onlyShard(redis))).fault);
      }
      expect(faults).toEqual(Array(3).fill('it ended while it rewrote its file'));
      // A rewrite begins a further one.
      expect(readdirSync(join(folder, 'appendonlydir')).filter((name) => name.endsWith('.incr.aof'))).toHaveLength(2);
      // Somebody makes room and has the file rewritten.
      small?.free();
      await redis.bgrewriteaof();
      await rewritten();
      expect(await readDisk(onlyShard(redis))).toMatchObject({ fault: undefined, isRewritten: true });
      await restart();
      expect((await readDisk(onlyShard(redis))).fault).toBeUndefined();
    });
  });
});
