import { redisOfSpec } from '@relay/testing';
import { runProgram } from './program.js';
import type { Shell } from './shell.js';

const { redis, server } = await redisOfSpec();

async function run(args: readonly string[], env: Shell['env']): Promise<string> {
  const said: string[] = [];
  const shell: Shell = {
    env: {
      REDIS_URL: server.url(),
      KAFKA_BROKERS: '127.0.0.1:1',
      ENCRYPTION_KEYS: `k:${Buffer.alloc(32).toString('base64')}`,
      ...env,
    },
    readFile: () => '',
    readInput: () => Promise.resolve(''),
    print: (text) => void said.push(text),
    note: (text) => void said.push(text),
    isTerminal: false,
    interrupted: () => Promise.resolve(),
    exitCode: 0,
  };
  expect(await runProgram([...args], shell)).toBe(1);
  return said.join('\n');
}

describe('a command with another number of shards than the state has', () => {
  beforeEach(async () => {
    await redis.flushall();
    await redis.set('{relay:0}:shards', 3);
  });

  it.each([['registry', 'compact'], ['recover'], ['doctor']])('says which it is: relay %s %s', async (...args) => {
    const said = await run(
      args.filter((arg) => arg !== undefined),
      {},
    );
    expect(said).toContain('the state in Redis is divided into 3 shards, and REDIS_SHARDS is 1');
    expect(said).toContain('set REDIS_SHARDS=3');
    expect(said).not.toContain('was lost');
  });
});
