// A Redis of its own for measuring memory.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { root } from '../lib/paths.mjs';
import { choosePort } from '../lib/ports.mjs';
import { end, until } from '../lib/process.mjs';
import * as redis from '../lib/redis.mjs';

export const builtLib = (name) => import(pathToFileURL(join(root, 'dist', 'libs', name, 'src', 'index.js')));

/** Gives the task a client and `used`, which reads the bytes in use. */
export async function withOwnRedis(folder, signal, task) {
  const { Redis } = await import('ioredis');
  mkdirSync(folder, { recursive: true });
  const port = await choosePort({}, 'REDIS_PORT');
  const server = await redis.launch(folder, { port });
  const client = new Redis(port, { lazyConnect: true, maxRetriesPerRequest: null, retryStrategy: () => 100 });
  client.on('error', () => undefined);
  try {
    await until(() => redis.answers({ port }), 20_000, signal);
    await client.connect();
    await client.config('SET', 'appendonly', 'no'); // only memory is measured
    const used = async () => Number(/used_memory:(\d+)/.exec(await client.info('memory'))[1]);
    return await task(client, used);
  } finally {
    client.disconnect();
    await end(server.pid, 5_000);
  }
}
