import { once } from 'node:events';
import { redisOfSpec } from '@relay/testing';
import { dumpOf } from './canaries.js';

const { redis } = await redisOfSpec();

beforeAll(async () => {
  await once(redis, 'ready');
});

it('a dump has the name and all members of a key of every type, as bytes', async () => {
  const bytes = Buffer.from([0xff, 0x00, 0xfe]);
  const value = (name: string): Buffer => Buffer.concat([Buffer.from(name), bytes]);
  await redis.set('string-name', value('string'));
  await redis.hset('hash-name', value('field'), value('hash'));
  await redis.rpush('list-name', value('list'));
  await redis.sadd('set-name', value('set'));
  await redis.zadd('zset-name', 1, value('zset'));
  await redis.xadd('stream-name', '*', value('member'), value('stream'));
  const dump = await dumpOf(redis);
  for (const name of ['string', 'field', 'hash', 'list', 'set', 'zset', 'member', 'stream'])
    expect([name, dump.includes(value(name))]).toEqual([name, true]);
  for (const name of ['string', 'hash', 'list', 'set', 'zset', 'stream'])
    expect([name, dump.includes(`${name}-name`)]).toEqual([name, true]);
});
