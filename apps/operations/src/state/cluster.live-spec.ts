import { ClusterServers } from '@relay/testing';
import { RunningOperations } from '../spec-operations.js';

interface Found {
  check: string;
  state: string;
  text: string;
}

describe('the examination of a Redis Cluster by HTTP', () => {
  let servers: ClusterServers;
  let operations: RunningOperations;
  beforeAll(async () => {
    servers = await ClusterServers.start();
    const [first] = servers.all;
    if (first === undefined) throw new Error('there is no server');
    operations = await RunningOperations.start(first.server, {
      REDIS_URL: '',
      REDIS_CLUSTER_NODES: servers.names.join(','),
      REDIS_PASSWORD: servers.password,
      REDIS_SHARDS: '3',
    });
  });
  afterAll(async () => {
    await operations?.close();
    await servers?.close();
  });
  const found = async (): Promise<Found[]> => {
    const answer = await operations.call('GET', '/doctor');
    expect(answer.status).toBe(200);
    return ((await answer.json()) as { findings: Found[] }).findings;
  };
  const faults = (findings: readonly Found[]): Found[] =>
    findings.filter(({ state, check }) => state === 'fault' && check !== 'kafka');

  it('names the shard whose node is away, and examines what the others have', async () => {
    expect(faults(await found())).toEqual([]);
    // The node of the second shard; the third has what is global.
    const [node, , , replica] = servers.all;
    await replica?.look.config('SET', 'cluster-replica-no-failover', 'yes');
    node?.server.process.kill('SIGKILL');
    const after = await found();
    expect(faults(after).map(({ check, text }) => `${check}: ${text}`)).toEqual(
      expect.arrayContaining([
        expect.stringContaining(`cluster: ${node?.name} `),
        expect.stringContaining('shards: Shard 1 of 3 ({relay:1/3}) cannot be reached'),
      ]),
    );
    expect(after).toContainEqual({ check: 'redis', state: 'ok', text: 'answers' });
  });
});
