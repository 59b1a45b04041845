import { mkdtempSync, readdirSync, readFileSync, rmSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { startRedisServer, type RedisServer } from '@relay/testing';
import { Redis } from 'ioredis';
import { isRewritten, rewriteAfterRestart } from './append-only-file.adapter.js';
import { onlyShard } from './shard.js';

describe('the append-only file of Redis', () => {
  let folder: string;
  let server: RedisServer;
  let redis: Redis;
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
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'relay-aof-'));
    server = await startRedisServer(undefined, folder);
    await connect();
  });
  afterEach(async () => {
    redis.disconnect();
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  it('holds nothing of a transaction that was torn, whatever is written behind it', async () => {
    await redis.rpush('list', 'before');
    await redis.eval("redis.call('RPUSH', 'list', 'torn') redis.call('SET', 'other', 'torn')", 0);
    await restart((file) => truncateSync(file, readFileSync(file).lastIndexOf('torn') + 2));
    expect(await redis.lrange('list', 0, -1)).toEqual(['before']);
    await rewriteAfterRestart(onlyShard(redis));
    while (!(await isRewritten(onlyShard(redis)))) await delay(20);
    await redis.eval("redis.call('RPUSH', 'list', 'after') redis.call('SET', 'other', 'after')", 0);
    await restart();
    expect(await redis.lrange('list', 0, -1)).toEqual(['before', 'after']);
    expect(await redis.get('other')).toBe('after');
  });

  it('is rewritten once for each start', async () => {
    const rewrites = async (): Promise<string> => readdirSync(join(folder, 'appendonlydir')).toSorted().join(' ');
    const ask = async (): Promise<string> => {
      await rewriteAfterRestart(onlyShard(redis));
      while (!(await isRewritten(onlyShard(redis)))) await delay(20);
      return rewrites();
    };
    expect(await isRewritten(onlyShard(redis))).toBe(false);
    const [first, again] = [await ask(), await ask()];
    expect(again).toBe(first);
    await restart();
    expect(await isRewritten(onlyShard(redis))).toBe(false);
    expect(await ask()).not.toBe(first);
  });

  it('is left alone where Redis keeps none', async () => {
    await redis.config('SET', 'appendonly', 'no');
    await rewriteAfterRestart(onlyShard(redis));
    expect(await redis.keys('*')).toEqual([]);
  });
});
