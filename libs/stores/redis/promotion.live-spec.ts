import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { startRedisServer, TcpProxy, type RedisServer } from '@relay/testing';
import { Queue, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { isRedisAway, connectRedis, redisFault, type RedisUse } from './redis-client.adapter.js';

let folders: string[];
let servers: RedisServer[];
let looks: Redis[];
let address: TcpProxy;
let opened: Redis[] = [];
beforeEach(async () => {
  folders = [1, 2].map(() => mkdtempSync(join(tmpdir(), 'relay-promotion-')));
  const options = ['--repl-diskless-sync-delay', '0'];
  servers = await Promise.all(folders.map((folder) => startRedisServer(undefined, folder, options)));
  looks = servers.map((server) => new Redis(server.url()));
  await follow(1, 0);
  address = await TcpProxy.before(servers[0]?.port ?? 0);
});
afterEach(async () => {
  for (const redis of [...opened, ...looks]) redis.disconnect();
  opened = [];
  await address.close();
  await Promise.all(servers.map((server) => server.stop()));
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** Has a server follow another one, and waits until it has everything. */
async function follow(replica: number, primary: number): Promise<void> {
  await looks[replica]?.replicaof('127.0.0.1', servers[primary]?.port ?? 0);
  while (!(await looks[replica]?.info('replication'))?.includes('master_link_status:up')) await delay(20);
}

/** The replica becomes the primary, and the old one its replica, which keeps its connections. */
async function promote(): Promise<void> {
  await looks[1]?.replicaof('NO', 'ONE');
  await follow(0, 1);
}

const moveAddress = (): void => void (address.ports = [servers[1]?.port ?? 0]);

async function connect(use: RedisUse): Promise<Redis> {
  const settings = { REDIS_URL: `redis://127.0.0.1:${address.port}`, REDIS_SENTINELS: [], REDIS_SENTINEL_NAME: '' };
  const redis = connectRedis(settings, use, () => undefined);
  opened.push(redis);
  while (redis.status !== 'ready') await delay(20);
  return redis;
}

const runOf = async (redis?: Redis): Promise<string | undefined> =>
  /run_id:\S+/.exec((await redis?.info('server')) ?? '')?.[0];

/** As every caller of a `command` connection does. */
async function persist<T>(step: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await step();
    } catch (error) {
      if (!isRedisAway(error)) throw error;
      await delay(20);
    }
  }
}

describe('a Redis that is replaced behind its address, while connections to it stay open', () => {
  it.each(['command', 'queue'] as const)('is left by a connection for a %s that writes', async (use) => {
    const redis = await connect(use);
    await promote();
    moveAddress();
    await persist(() => redis.set('a', '1'));
    expect(await looks[1]?.get('a')).toBe('1');
  });

  it.each(['command', 'queue'] as const)('is left by a connection for a %s that only reads', async (use) => {
    const redis = await connect(use);
    await promote();
    moveAddress();
    const [, primary] = looks;
    while ((await persist(() => runOf(redis))) !== (await runOf(primary))) await delay(20);
  });

  it('is left by a connection whose writes fail within a transaction only', async () => {
    const redis = await connect('command');
    await promote();
    moveAddress();
    const write = async (): Promise<void> => {
      for (const [error] of (await redis.multi().eval("return redis.call('SET', 'a', '1')", 0).exec()) ?? [])
        if (error !== null) throw error;
    };
    await persist(write);
    expect(await looks[1]?.get('a')).toBe('1');
  });

  it('is told as a fault until the address leads to the primary', async () => {
    const redis = await connect('command');
    await promote();
    while (redisFault(redis) !== 'Redis is a replica here, and takes no writes') await delay(20);
    moveAddress();
    while (redisFault(redis) !== undefined) await delay(20);
    await persist(() => redis.set('a', '1'));
  });

  it('is left by the worker of a queue, which blocks on a connection of its own', async () => {
    const connection = await connect('queue');
    const queue = new Queue('jobs', { connection });
    const done: unknown[] = [];
    const worker = new Worker('jobs', async ({ data }) => void done.push(data), { connection, autorun: false });
    worker.on('error', () => undefined);
    void worker.run();
    try {
      await queue.add('job', 'before');
      while (done.length < 1) await delay(20);
      await promote();
      moveAddress();
      await queue.add('job', 'after');
      while (done.length < 2) await delay(20);
      expect(done).toEqual(['before', 'after']);
    } finally {
      await worker.close(true);
      await queue.close();
    }
  });
});
