import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { ClusterNode, RedisCluster } from '../../support/redis-cluster.js';

const run = promisify(execFile);

/** Moves the lowest slots of a primary to another one, with their keys, as an operator does. */
export async function reshard(cluster: RedisCluster, from: ClusterNode, to: ClusterNode, slots: number): Promise<void> {
  const [source, target] = await Promise.all([from, to].map(({ look }) => look.cluster('MYID')));
  const options = { from: source, to: target, slots, timeout: 60_000 };
  const args = Object.entries(options).flatMap(([name, value]) => [`--cluster-${name}`, String(value)]);
  await run('redis-cli', ['--cluster', 'reshard', `127.0.0.1:${from.port}`, ...args, '--cluster-yes'], {
    env: { ...process.env, REDISCLI_AUTH: cluster.settings['REDIS_PASSWORD'] },
    maxBuffer: 1 << 26,
  });
}
