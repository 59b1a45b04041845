import { Redis } from 'ioredis';
import { startRedisServer, type RedisServer } from './redis-server.js';

/**
 * A Redis of one spec file, and a client of it. Both end after the file's last test.
 * To be called where the file begins, outside of `describe`.
 * @param options what BullMQ demands of a connection that blocks
 */
export async function redisOfSpec(
  options: { readonly maxRetriesPerRequest?: null } = {},
): Promise<{ server: RedisServer; redis: Redis }> {
  const server = await startRedisServer();
  const redis = new Redis(server.url(), options);
  afterAll(async () => {
    redis.disconnect();
    await server.stop();
  });
  return { server, redis };
}
