import { describe, expect, it } from '@jest/globals';
import { replicaFindings, settingFindings } from './cluster-check.adapter.js';
import { shardFindings, stateFindings, type ClusterFacts, type NodeFacts } from './cluster-state.js';
import type { Finding } from './finding.js';

const infoOf = (changes: Readonly<Record<string, string>> = {}): string =>
  Object.entries({
    redis_version: '7.4.2',
    used_memory: '100',
    maxmemory: '1000',
    maxmemory_policy: 'noeviction',
    aof_enabled: '1',
    master_repl_offset: '5000',
    ...changes,
  })
    .map(([name, value]) => `${name}:${value}\r\n`)
    .join('');

const follower = (host: string, changes: Readonly<Record<string, string>> = {}): string =>
  Object.entries({ ip: host, port: '6379', state: 'online', offset: '4990', lag: '0', ...changes })
    .map(([name, value]) => `${name}=${value}`)
    .join(',');

type Change = Partial<NodeFacts> & { info?: Readonly<Record<string, string>>; state?: string };

/** Three primaries a, b and c with the replicas d, e and f, and what is different. */
function cluster(changes: Readonly<Record<string, Change>> = {}, slots = [100, 6_000, 12_000]): ClusterFacts {
  const ranges = [
    [0, 5_460],
    [5_461, 10_922],
    [10_923, 16_383],
  ] as const;
  const names = ['a', 'b', 'c', 'd', 'e', 'f'];
  const nodes = names.map((letter, index): NodeFacts => {
    const { info, state = 'ok', ...change } = changes[letter] ?? {};
    const range = ranges[index];
    const slave = range === undefined ? {} : { slave0: follower(names[index + 3] ?? '') };
    const config = { appendfsync: 'always', 'cluster-require-full-coverage': 'no' };
    const node = {
      id: letter,
      name: `${letter}:6379`,
      hasFailed: false,
      slots: range === undefined ? [] : [range],
      moving: [],
      answer: { info: infoOf(Object.assign(slave, info)), state, config },
    };
    return Object.assign(node, range === undefined ? { follows: names[index - 3] ?? '' } : {}, change);
  });
  const shards = slots.map((slot, number) => ({
    slot,
    tag: slots.length === 1 ? '{relay:0}' : `{relay:${number}/${slots.length}}`,
  }));
  return { nodes, shards, global: { slot: 7_000, tag: '{relay:0}' } };
}

const away: Change = { answer: new Error('connect ECONNREFUSED') };
const wrongOf = (findings: readonly Finding[]): string[] =>
  findings.filter(({ state }) => state !== 'ok').map(({ state, check, text }) => `${state} ${check}: ${text}`);
const fixesOf = (findings: readonly Finding[]): (string | undefined)[] =>
  findings.flatMap(({ fix }) => (fix === undefined ? [] : [fix]));

describe('stateFindings', () => {
  it('is content with a cluster that serves everything', () => {
    expect(stateFindings(cluster()).map(({ text }) => text)).toEqual([
      'all 16384 slots are served, by 3 primaries',
      'all 6 answer',
    ]);
  });

  it('names slots that no node has, and how they are given to one', () => {
    const found = stateFindings(
      cluster({
        b: {
          slots: [
            [5_461, 5_999],
            [6_002, 10_922],
          ],
        },
      }),
    );
    expect(wrongOf(found)).toEqual(['fault cluster: no node serves the slots 6000-6001']);
    expect(fixesOf(found)).toEqual([expect.stringContaining('`redis-cli --cluster fix a:6379`')]);
  });

  it('names a primary that is away with its slots, and has its replica take over', () => {
    const found = stateFindings(cluster({ a: away }));
    expect(wrongOf(found)).toEqual([
      'fault cluster: a:6379 does not answer (connect ECONNREFUSED), and has the slots 0-5460',
    ]);
    expect(fixesOf(found)).toEqual([expect.stringContaining('`redis-cli -h d -p 6379 CLUSTER FAILOVER FORCE`')]);
    expect(fixesOf(stateFindings(cluster({ a: away, d: away })))[0]).toBe(
      'start a:6379 with its data: no replica can take its place',
    );
  });

  it('names a primary that the others miss although it answers', () => {
    expect(wrongOf(stateFindings(cluster({ a: { hasFailed: true } })))).toEqual([
      'fault cluster: a:6379 is held for failed by the other nodes, and has the slots 0-5460',
    ]);
  });

  it('warns of a replica that is away, and of a node without slots', () => {
    const found = stateFindings(cluster({ d: away, e: { ...away, follows: 'gone' } }));
    expect(wrongOf(found)).toEqual([
      'warning cluster nodes: d:6379, a replica of a:6379, does not answer (connect ECONNREFUSED)',
      'warning cluster nodes: e:6379, a replica of an unknown node, does not answer (connect ECONNREFUSED)',
    ]);
    expect(fixesOf(found)[0]).toContain('`redis-cli --cluster del-node a:6379 d`');
  });

  it('names the nodes that refuse commands', () => {
    expect(wrongOf(stateFindings(cluster({ a: { state: 'fail' }, c: { state: 'fail' } })))).toEqual([
      'fault cluster: cluster_state is fail at a:6379, c:6379: commands with keys are refused there',
    ]);
  });

  it('warns of a move of slots that has not ended', () => {
    const found = stateFindings(cluster({ a: { moving: ['[93->-b]'] } }));
    expect(wrongOf(found)).toEqual(['warning cluster: a:6379 is moving slots: [93->-b]']);
    expect(fixesOf(found)[0]).toContain('`redis-cli --cluster fix a:6379`');
  });
});

describe('shardFindings', () => {
  it('says which shard is on which node', () => {
    expect(shardFindings(cluster())).toEqual([
      { check: 'shards', state: 'ok', text: 'all answer: 0 on a:6379; 1 on b:6379; 2 on c:6379' },
    ]);
    expect(shardFindings(cluster({}, [7_000]))).toEqual([
      { check: 'shards', state: 'ok', text: 'all keys are on b:6379' },
    ]);
  });

  it('names a shard that cannot be reached by its number, and what is global', () => {
    expect(wrongOf(shardFindings(cluster({ b: away })))).toEqual([
      'fault shards: Shard 1 of 3 ({relay:1/3}) cannot be reached: b:6379, which has its slot 6000, does not answer (connect ECONNREFUSED); its envelopes wait',
      'fault shards: What is global ({relay:0}) cannot be reached: b:6379, which has its slot 7000, does not answer (connect ECONNREFUSED); all shards wait',
    ]);
    expect(wrongOf(shardFindings(cluster({ c: { slots: [] } })))).toEqual([
      'fault shards: Shard 2 of 3 ({relay:2/3}) cannot be reached: no node serves its slot 12000; its envelopes wait, those of the other shards are delivered',
    ]);
    expect(wrongOf(shardFindings(cluster({ b: away }, [7_000])))).toEqual([
      expect.stringContaining("fault shards: The relay's slot ({relay:0}) cannot be reached: b:6379"),
    ]);
  });

  it.each([
    [
      '3 of 4 on one',
      [10, 20, 30, 12_000],
      'a:6379 has 3 of 4 shards (0, 1, 2), where its share is 2',
      'move shard 0 to b:6379',
      'a --cluster-to b --cluster-slots 11 ',
    ],
    [
      'both of 2 on one',
      [6_000, 5_465],
      'b:6379 has 2 of 2 shards (0, 1), where its share is 1',
      'move shard 1 to a:6379',
      'b --cluster-to a --cluster-slots 5 ',
    ],
  ])('warns of %s, with the command that moves the lowest', (_, slots, text, fix, command) => {
    const [found, ...others] = shardFindings(cluster({}, slots)).filter(({ state }) => state === 'warning');
    expect([found?.text, others]).toEqual([expect.stringContaining(text), []]);
    expect(found?.fix).toContain(fix);
    expect(found?.fix).toContain(`--cluster-from ${command}--cluster-yes`);
  });

  it.each([[[10, 20, 6_000, 12_000]], [[10, 20, 6_000, 6_001, 12_000, 12_001]], [[10, 6_000]]])(
    'is content with shards at %j',
    (slots) => {
      expect(wrongOf(shardFindings(cluster({}, slots)))).toEqual([]);
    },
  );

  it('counts the slots of all ranges up to the shard', () => {
    const two = cluster(
      {
        a: {
          slots: [
            [0, 9],
            [20, 5_460],
          ],
        },
        b: {
          slots: [
            [10, 19],
            [5_461, 10_922],
          ],
        },
      },
      [25, 30],
    );
    expect(fixesOf(shardFindings(two))[0]).toContain('--cluster-slots 16 ');
  });
});

describe('replicaFindings', () => {
  it('says how far replicas are behind', () => {
    expect(replicaFindings(cluster(), 'production')).toEqual([
      { check: 'replicas', state: 'ok', text: 'every primary has one that follows, at most 10 bytes behind' },
    ]);
  });

  it.each([
    ['has none', { slave0: '' }, 'a:6379 has no replica that is connected'],
    [
      'has one that copies still',
      { slave0: follower('d', { state: 'wait_bgsave' }) },
      'a:6379 has no replica yet: d:6379',
    ],
    ['has one that is silent', { slave0: follower('d', { lag: '31' }) }, 'has said nothing for 31 s'],
    ['has one far behind', { master_repl_offset: '90000000' }, 'lacks 89995010 bytes'],
  ])('warns of a primary that %s', (_, info, text) => {
    const facts = cluster({ a: { info } });
    expect(wrongOf(replicaFindings(facts, 'production'))).toEqual([expect.stringContaining(text)]);
    expect(wrongOf(replicaFindings(facts, 'development'))).toEqual([]);
  });

  it('takes the best of several, and leaves a primary without slots alone', () => {
    const info = { slave0: follower('d', { lag: '31' }), slave1: follower('x') };
    expect(wrongOf(replicaFindings(cluster({ a: { info } }), 'production'))).toEqual([]);
    expect(wrongOf(replicaFindings(cluster({ a: { slots: [], info: { slave0: '' } } }), 'production'))).toEqual([]);
  });

  it('names the replica to start, and how another is added', () => {
    const found = replicaFindings(cluster({ a: { info: { slave0: '' } } }), 'production');
    expect(found[0]?.fix).toBe(
      'start d:6379, or add one: `redis-cli --cluster add-node NEW_HOST:PORT a:6379 --cluster-slave --cluster-master-id a`',
    );
  });
});

describe('settingFindings', () => {
  it('says once what is the same at all nodes', () => {
    const found = settingFindings(cluster(), 'production');
    expect(wrongOf(found)).toEqual([]);
    expect(found.map(({ text }) => text)).toEqual([
      'all 6 nodes: maxmemory-policy is noeviction',
      'all 6 nodes: maxmemory is 1000 bytes',
      'all 6 nodes: appendonly is on',
      'all 6 nodes: no write to the disk failed',
      'all 6 nodes: a shard that is not served stops no other',
      'all 6 nodes run Redis 7.4.2',
      'used of maxmemory: a:6379 10 %, b:6379 10 %, c:6379 10 %, d:6379 10 %, e:6379 10 %, f:6379 10 %',
    ]);
  });

  it('names the nodes that are set otherwise', () => {
    const info = { maxmemory_policy: 'allkeys-lru' };
    const found = settingFindings(cluster({ c: { info }, e: { info } }), 'production');
    expect(wrongOf(found)).toEqual([
      'fault redis memory: c:6379, e:6379: maxmemory-policy is allkeys-lru: Redis may drop deliveries when it is full',
    ]);
    expect(fixesOf(found)).toEqual([expect.stringMatching(/^at c:6379, e:6379: run `CONFIG SET maxmemory-policy/)]);
  });

  it('warns where one slot stops all, but not of one shard', () => {
    const config = { appendfsync: 'always', 'cluster-require-full-coverage': 'yes' };
    const answer = { info: infoOf(), state: 'ok', config };
    expect(wrongOf(settingFindings(cluster({ a: { answer } }), 'production'))).toEqual([
      'warning cluster coverage: a:6379: cluster-require-full-coverage is yes: one shard that is not served stops all of them',
    ]);
    expect(wrongOf(settingFindings(cluster({ a: { answer } }, [7_000]), 'production'))).toEqual([]);
  });

  it('says nothing of what it cannot ask', () => {
    const checks = settingFindings(
      cluster({ a: { answer: { info: infoOf(), state: undefined, config: {} } } }),
      'production',
    );
    expect(checks.find(({ check }) => check === 'cluster coverage')?.text).toMatch(/^b:6379, c:6379/);
  });

  it('warns of different versions, and tells Valkey from Redis', () => {
    const found = settingFindings(cluster({ b: { info: { valkey_version: '8.1.0' } } }), 'production');
    expect(wrongOf(found)).toEqual([
      'warning redis version: the nodes run Redis 7.4.2 at a:6379, c:6379, d:6379, e:6379, f:6379; Valkey 8.1.0 at b:6379',
    ]);
  });

  it('warns of a node that is too full, the fullest first', () => {
    const found = settingFindings(cluster({ b: { info: { used_memory: '610' } } }), 'production');
    expect(wrongOf(found)).toEqual([
      expect.stringContaining('warning redis memory use: used of maxmemory: b:6379 61 %, a:6379 10 %'),
    ]);
    expect(wrongOf(settingFindings(cluster({ b: { info: { used_memory: '600' } } }), 'production'))).toEqual([]);
  });
});
