import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { startRedisServer, type RedisServer } from '@relay/testing';
import type { Redis } from 'ioredis';
import { isRedisAway, connectRedis, redisFault } from './redis-client.adapter.js';

let server: RedisServer;
beforeAll(async () => {
  server = await startRedisServer();
});
afterAll(() => server?.stop());

// Not `once` of node:events: it rejects on the 'error' that comes first.
const told = (redis: Redis, event: string): Promise<void> => new Promise((resolve) => void redis.once(event, resolve));

describe('connectRedis for commands', () => {
  it('knows a Redis that is frozen, refuses at once while it is, and finds it again', async () => {
    const settings = { REDIS_URL: server.url(), REDIS_SENTINELS: [], REDIS_SENTINEL_NAME: '' };
    const redis = connectRedis(settings, 'command', () => undefined);
    await told(redis, 'ready');
    server.process.kill('SIGSTOP');
    try {
      const lost = told(redis, 'close');
      await expect(redis.ping()).rejects.toThrow();
      await lost;
      expect(redis.status).not.toBe('ready');
      await expect(redis.ping()).rejects.toThrow();
    } finally {
      server.process.kill('SIGCONT');
    }
    await told(redis, 'ready');
    expect(await redis.ping()).toBe('PONG');
    redis.disconnect();
  });

  it('recognises by each error of a command that Redis is away, from the moment it is frozen until it is killed and back', async () => {
    const own = await startRedisServer();
    const redis = connectRedis(
      { REDIS_URL: own.url(), REDIS_SENTINELS: [], REDIS_SENTINEL_NAME: '' },
      'command',
      () => undefined,
    );
    await told(redis, 'ready');
    const errors: unknown[] = [];
    const asked: Promise<unknown>[] = [];
    const ask = (): void => {
      const commands = [redis.ping(), redis.multi().set('a', '1').get('a').exec(), redis.pipeline().get('a').exec()];
      asked.push(...commands.map((command) => Promise.resolve(command).then(tell, tell)));
    };
    const tell = (answer: unknown): void => {
      if (answer instanceof Error) errors.push(answer);
      // A pipeline resolves with the errors of its commands.
      else if (Array.isArray(answer))
        errors.push(...answer.flatMap(([error]: [unknown]) => (error === null ? [] : [error])));
    };
    own.process.kill('SIGSTOP');
    const asking = setInterval(ask, 50);
    await new Promise((resolve) => setTimeout(resolve, 11_000)); // both ends of 5 s: a command's own, and the socket's
    own.process.kill('SIGCONT');
    await told(redis, 'ready');
    await own.stop();
    await new Promise((resolve) => setTimeout(resolve, 500));
    clearInterval(asking);
    await Promise.all(asked);
    redis.disconnect();
    expect(errors.length).toBeGreaterThan(100);
    expect(errors.filter((error) => !isRedisAway(error))).toEqual([]);
    expect(isRedisAway(await redis.ping().catch((error: unknown) => error))).toBe(true);
  });
});

describe('a database that Redis does not have', () => {
  it.each(['command', 'queue'] as const)(
    'is never ready for %ss, is named, and nothing goes to another',
    async (use) => {
      const settings = { REDIS_URL: server.url(16), REDIS_SENTINELS: [], REDIS_SENTINEL_NAME: '' };
      const redis = connectRedis(settings, use, () => undefined);
      let readies = 0;
      redis.on('ready', () => (readies += 1));
      redis.set('a key', 'of database 16').catch(() => undefined);
      for (let times = 0; times < 3; times += 1) await told(redis, 'close');
      expect(readies).toBe(0);
      expect(redisFault(redis)).toContain('REDIS_URL');
      redis.disconnect();
      const look = connectRedis({ ...settings, REDIS_URL: server.url() }, 'command', () => undefined);
      await told(look, 'ready');
      expect(await look.exists('a key')).toBe(0);
      look.disconnect();
    },
  );
});

describe('connectRedis for the queue', () => {
  it('waits for a job for as long as BullMQ does, leaves a Redis that is frozen, and asks it again when it is back', async () => {
    const settings = { REDIS_URL: server.url(), REDIS_SENTINELS: [], REDIS_SENTINEL_NAME: '' };
    const faults: string[] = [];
    const redis = connectRedis(settings, 'queue', (error) => faults.push(error.message));
    await told(redis, 'ready');
    expect(redisFault(redis)).toBeUndefined();
    expect(await redis.bzpopmin('no such marker', 10)).toBeNull();
    expect(faults).toEqual([]);
    server.process.kill('SIGSTOP');
    const asked = redis.ping();
    try {
      await told(redis, 'close');
      expect(redisFault(redis)).toMatch(/^not connected/);
    } finally {
      server.process.kill('SIGCONT');
    }
    expect(await asked).toBe('PONG');
    expect(redisFault(redis)).toBeUndefined();
    redis.disconnect();
  });
});

describe('connectRedis by sentinels', () => {
  it.each([
    ['[::1]', '::1'],
    ['::1', '::1'],
    ['127.0.0.1', '127.0.0.1'],
  ])('asks a sentinel at %s', async (host, at) => {
    const sentinel = createServer((socket) => socket.destroy()).listen(0, at);
    await once(sentinel, 'listening');
    const { port } = sentinel.address() as AddressInfo;
    const settings = { REDIS_SENTINELS: [`${host}:${port}`], REDIS_SENTINEL_NAME: 'relay' };
    const came = once(sentinel, 'connection').then(() => 'came');
    const faults: string[] = [];
    const redis = connectRedis(settings, 'command', (error) => faults.push(error.message));
    const late = new Promise<string>((done) => setTimeout(() => done(faults.join()), 3_000));
    expect(await Promise.race([came, late])).toBe('came');
    redis.disconnect();
    sentinel.close();
  });
});
