import { PinoLog } from '@relay/telemetry';
import type { Redis } from 'ioredis';
import { waitForRedis } from './start.js';

const waited = (info: string): Promise<void> =>
  waitForRedis({ status: 'ready', info: async () => info } as unknown as Redis, new PinoLog('spec', 'silent'));

describe('the wait for Redis', () => {
  it('ends only in a refusal where Redis may evict keys', async () => {
    await expect(waited('maxmemory_policy:allkeys-lru\r\naof_enabled:1\r\n')).rejects.toThrow('noeviction');
  });

  it.each(['aof_enabled:0', 'aof_enabled:1\r\nevicted_keys:3'])(
    'goes on with what only has to be told, such as %j',
    async (info) => {
      await expect(waited(`maxmemory_policy:noeviction\r\n${info}\r\n`)).resolves.toBeUndefined();
    },
  );
});
