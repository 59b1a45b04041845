import { ClusterServers } from '@relay/testing';
import { checkAll } from './doctor.command.js';

let servers: ClusterServers;
beforeAll(async () => {
  servers = await ClusterServers.start(['--cluster-require-full-coverage', 'no']);
});
afterAll(() => servers?.close());

const findings = async (): Promise<string[]> => {
  const env = {
    RELAY_ENV: 'production',
    KAFKA_BROKERS: '127.0.0.1:1',
    REDIS_CLUSTER_NODES: servers.names.join(','),
    REDIS_PASSWORD: servers.password,
    REDIS_SHARDS: '3',
    ENCRYPTION_KEYS: `k1:${Buffer.alloc(32, 7).toString('base64')}`,
  };
  const found = await checkAll({
    env,
    readFile: () => '',
    readInput: () => Promise.resolve(''),
    print: () => undefined,
    note: () => undefined,
    isTerminal: false,
    interrupted: () => new Promise(() => undefined),
    exitCode: 0,
  });
  return found.map(({ state, check, text }) => `${state} ${check}: ${text}`);
};

describe('relay doctor with a Redis Cluster', () => {
  it('examines every node, even if one of them is away', async () => {
    // On a busy machine a node may take longer to answer than the doctor waits.
    let healthy = await findings();
    while (healthy.some((line) => line.includes('timed out'))) healthy = await findings();
    expect(healthy).toEqual(
      expect.arrayContaining([
        'ok redis: answers',
        'ok cluster nodes: all 6 answer',
        expect.stringContaining('ok shards:'),
      ]),
    );
    // The node of the second shard; the third has what is global.
    const [node, , , replica] = servers.all;
    await replica?.look.config('SET', 'cluster-replica-no-failover', 'yes');
    node?.server.process.kill('SIGKILL');
    expect(await findings()).toEqual(
      expect.arrayContaining([
        'ok redis: answers',
        expect.stringContaining('fault shards: Shard 1 of 3 ({relay:1/3}) cannot be reached'),
        expect.stringMatching(/^ok webhook credentials: /),
      ]),
    );
  });
});
