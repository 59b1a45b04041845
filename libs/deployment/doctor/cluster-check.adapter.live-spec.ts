import { execFile } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { nodesOf } from '@relay/redis';
import { ClusterServers, type ClusterServer } from '@relay/testing';
import { checkCluster } from './cluster-check.adapter.js';
import type { Finding } from './finding.js';

const WITHIN_MS = 120_000;
let servers: ClusterServers;
beforeAll(async () => {
  const asRecommended = ['--appendfsync', 'always', '--maxmemory', '64mb', '--cluster-require-full-coverage', 'no'];
  servers = await ClusterServers.start(asRecommended);
});
afterAll(() => servers?.close());

const examined = (shards = 3, nodes = servers.names, login = {}): Promise<Finding[]> =>
  checkCluster(
    {
      REDIS_SENTINELS: [],
      REDIS_SENTINEL_NAME: '',
      REDIS_CLUSTER_NODES: nodes,
      REDIS_PASSWORD: servers.password,
      REDIS_SHARDS: shards,
      ...login,
    },
    'production',
  );

async function waitUntil<T>(condition: () => Promise<T | false>): Promise<T> {
  const deadline = performance.now() + WITHIN_MS;
  for (;;) {
    const value = await condition();
    if (value !== false) return value;
    if (performance.now() > deadline) throw new Error(`waited ${WITHIN_MS} ms in vain`);
    await delay(200);
  }
}

/** Findings that are no ok, once they are these: a cluster takes some seconds to agree. */
async function untilWrong(wanted: readonly RegExp[], shards = 3): Promise<Finding[]> {
  let texts: string[] = [];
  const found = waitUntil(async () => {
    const wrong = (await examined(shards)).filter(({ state }) => state !== 'ok');
    texts = wrong.map(({ state, check, text }) => `${state} ${check}: ${text}`);
    return texts.length === wanted.length && wanted.every((one) => texts.some((text) => one.test(text))) && wrong;
  });
  return found.catch((error: unknown) => {
    throw new Error(`found instead:\n${texts.join('\n')}`, { cause: error });
  });
}

/** Runs the `redis-cli` that a fix names, as an operator would. */
async function runFixOf(finding: Finding | undefined): Promise<void> {
  const command = /`(redis-cli [^`]+)`/.exec(finding?.fix ?? '')?.[1] ?? '';
  expect(command).not.toBe('');
  const [program = '', ...args] = command.split(' ');
  const child = promisify(execFile)(program, ['-a', servers.password, ...args]);
  child.child.stdin?.end('yes\n');
  await child;
}

/** The node that serves a slot now, and the replica of it. */
async function serving(slot: number): Promise<{ primary: ClusterServer; replica: ClusterServer }> {
  const look = servers.all.find((one) => one.look.status === 'ready')?.look;
  const nodes = nodesOf(String(await look?.cluster('NODES')), '');
  const first = nodes.find(({ slots }) => slots.some(([from, to]) => from <= slot && slot <= to));
  const two = [first, nodes.find(({ follows }) => follows !== undefined && follows === first?.id)];
  const [primary, replica] = two.map((node) => servers.all.find(({ server }) => server.port === node?.port));
  if (primary === undefined || replica === undefined) throw new Error(`slot ${slot} is not served by two`);
  return { primary, replica };
}

/** Slots of the first and the second of three shards. */
const [FIRST_SLOT, SECOND_SLOT] = [14_214, 182];

describe('the examination of every node of a Redis Cluster', () => {
  it('is content with a healthy one, and learns of the nodes that are not named', async () => {
    const found = await examined(3, servers.names.slice(0, 1));
    expect(found.filter(({ state }) => state !== 'ok')).toEqual([]);
    const [a, b, c] = servers.names;
    expect(found.map(({ check, text }) => `${check}: ${text}`)).toEqual(
      expect.arrayContaining([
        'cluster: all 16384 slots are served, by 3 primaries',
        'cluster nodes: all 6 answer',
        expect.stringMatching(/^shards: all answer: /),
        expect.stringMatching(/^replicas: every primary has one that follows/),
        'redis memory: all 6 nodes: maxmemory-policy is noeviction',
        'redis durability: all 6 nodes: appendonly is on',
        expect.stringMatching(/^redis version: all 6 nodes run /),
        expect.stringMatching(/^redis memory use: .* %/),
      ]),
    );
    const shards = found.find(({ check }) => check === 'shards')?.text;
    for (const place of [`1 on ${a}`, `2 on ${b}`, `0 on ${c}`]) expect(shards).toContain(place);
  });

  it('needs no more rights than the relay has by docs/security.md', async () => {
    const rights = [
      'on',
      '>of-the-relay',
      '~{relay:*',
      '&*',
      '+@all',
      '-@dangerous',
      '+info',
      '+client',
      '+bgrewriteaof',
    ];
    for (const { look } of servers.all) await look.acl('SETUSER', 'relay', ...rights);
    const found = await examined(3, servers.names, { REDIS_USERNAME: 'relay', REDIS_PASSWORD: 'of-the-relay' });
    expect(found.filter(({ state }) => state !== 'ok')).toEqual([]);
    // CONFIG is refused.
    expect(found.map(({ check }) => check)).not.toContain('cluster coverage');
  });

  it('names the one node that is set otherwise, be it a replica', async () => {
    const { name, look } = servers.all[4] as ClusterServer;
    await look.config('SET', 'maxmemory-policy', 'allkeys-lru');
    await look.config('SET', 'appendfsync', 'everysec');
    await look.config('SET', 'cluster-require-full-coverage', 'yes');
    try {
      const wrong = await untilWrong([
        new RegExp(`^fault redis memory: ${name}: maxmemory-policy is allkeys-lru`),
        new RegExp(`^warning redis durability: ${name}: appendfsync is everysec`),
        new RegExp(`^warning cluster coverage: ${name}: `),
      ]);
      expect(wrong[0]?.fix).toBe(`at ${name}: run \`CONFIG SET maxmemory-policy noeviction\` and set it in redis.conf`);
    } finally {
      await look.config('SET', 'maxmemory-policy', 'noeviction');
      await look.config('SET', 'appendfsync', 'always');
      await look.config('SET', 'cluster-require-full-coverage', 'no');
    }
    await untilWrong([]);
  });

  it('names a replica that is away, and the primary that lacks it', async () => {
    const { primary, replica } = await serving(FIRST_SLOT);
    replica.server.process.kill('SIGKILL');
    const wrong = await untilWrong([
      new RegExp(
        `^warning cluster nodes: ${replica.name}, a replica of ${primary.name}, does not answer .*ECONNREFUSED`,
      ),
      new RegExp(`^warning replicas: ${primary.name} has no replica that is connected`),
    ]);
    expect(wrong.at(-1)?.fix).toContain(`start ${replica.name}, or add one: `);
    await servers.restart(replica);
    await untilWrong([]);
  });

  it('waits for no node that is frozen', async () => {
    const { replica } = await serving(FIRST_SLOT);
    replica.server.process.kill('SIGSTOP');
    await untilWrong([new RegExp(`^warning cluster nodes: ${replica.name}, a replica of .* does not answer `)]).finally(
      () => replica.server.process.kill('SIGCONT'),
    );
    await untilWrong([]);
  });

  it('names the shard whose node is away by its number, and its replica takes over by the command it prints', async () => {
    const { primary, replica } = await serving(SECOND_SLOT);
    // As where most of the primaries are away with it: nobody votes.
    await replica.look.config('SET', 'cluster-replica-no-failover', 'yes');
    primary.server.process.kill('SIGKILL');
    const [first] = await untilWrong([
      new RegExp(`^fault cluster: ${primary.name} .*, and has the slots 0-5460`),
      new RegExp(
        `^fault shards: Shard 1 of 3 \\(\\{relay:1/3\\}\\) cannot be reached: ${primary.name}, which has its slot 182,`,
      ),
    ]);
    await runFixOf(first);
    await untilWrong([
      new RegExp(`^warning cluster nodes: ${primary.name}, which has no slots, `),
      new RegExp(`^warning replicas: ${replica.name} has no replica that is connected`),
    ]);
    await replica.look.config('SET', 'cluster-replica-no-failover', 'no');
    await servers.restart(primary);
    await untilWrong([]);
  });

  it('names a node with more than its share of the shards, and moves one by the command it prints', async () => {
    const { primary } = await serving(SECOND_SLOT);
    const [uneven] = await untilWrong(
      [new RegExp(`^warning shards: ${primary.name} has 3 of 6 shards \\(1, 2, 5\\)`)],
      6,
    );
    expect(uneven?.fix).toContain(' --cluster-slots 2372 ');
    await runFixOf(uneven);
    await untilWrong([], 6);
  });

  it('names a slot that no node serves, with the shard that is in it, and mends it by the command it prints', async () => {
    const { primary } = await serving(SECOND_SLOT);
    const inOrder = [primary, ...servers.all.filter((one) => one !== primary)];
    // Its owner first. One that has not forgotten it yet tells it to another that has: until none does.
    let quiet = 0;
    await waitUntil(async () => {
      const forgot = await Promise.all(
        inOrder.map(({ look }) =>
          look.call('CLUSTER', 'DELSLOTS', String(SECOND_SLOT)).then(
            () => true,
            () => false,
          ),
        ),
      );
      quiet = forgot.includes(true) ? 0 : quiet + 1;
      return quiet === 10;
    });
    const isLost = (text: string): boolean =>
      /^Shard 1 of 3 .* no node serves its slot 182; its envelopes wait/.test(text);
    const found = await waitUntil(async () => {
      const all = await examined();
      return all.some(({ text }) => isLost(text)) && all;
    });
    const faults = found.filter(({ state }) => state === 'fault');
    expect(faults.map(({ check, text }) => [check, text])).toEqual([
      ['cluster', 'no node serves the slots 182'],
      ['shards', expect.stringContaining('Shard 1 of 3')],
    ]);
    await runFixOf(faults[0]);
    await waitUntil(async () => (await examined()).every(({ state }) => state !== 'fault'));
  });

  it('says so where none of the named nodes answers', async () => {
    await expect(examined(3, ['127.0.0.1:1'])).rejects.toThrow('no node of the Redis Cluster answers: 127.0.0.1:1 (');
  });
});
