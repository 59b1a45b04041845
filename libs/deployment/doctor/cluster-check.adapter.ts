import { askNode, type ClusterNode, GLOBAL_TAG, nodeLogin, nodesOf, type RedisSettings, shardTags } from '@relay/redis';
import type { Redis } from 'ioredis';
import {
  type ClusterFacts,
  faultOf,
  type NodeAnswer,
  type NodeFacts,
  nodeOf,
  shardFindings,
  SLOTS,
  stateFindings,
} from './cluster-state.js';
import { infoField, redisFindings, setting, settingOf } from './conditions.js';
import { Away, fault, type Finding, ok, warning } from './finding.js';

/** Flags of a node that has left the cluster or has not joined it yet. */
const STRANGERS = new Set(['noaddr', 'handshake']);

/**
 * Checks every node of a Redis Cluster.
 * @param environment RELAY_ENV
 * @throws Away if no node of REDIS_CLUSTER_NODES answers
 */
export async function checkCluster(settings: RedisSettings, environment: string): Promise<Finding[]> {
  const facts = await readCluster(settings);
  return [
    ...stateFindings(facts),
    ...shardFindings(facts),
    ...replicaFindings(facts, environment),
    ...settingFindings(facts, environment),
    ...clockFindings(facts),
  ];
}

async function readCluster(settings: RedisSettings): Promise<ClusterFacts> {
  const login = nodeLogin(settings);
  const asked = settings.REDIS_CLUSTER_NODES ?? [];
  const tags = [GLOBAL_TAG, ...shardTags(settings.REDIS_SHARDS ?? 1)];
  const answers = await Promise.allSettled(
    asked.map((node) => askNode(node, login, (redis, host) => viewOf(redis, host, tags))),
  );
  const views = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []));
  const [view] = views.toSorted((one, other) => weightOf(other) - weightOf(one));
  if (view === undefined) {
    const [first] = answers.flatMap((answer) => (answer.status === 'rejected' ? [answer.reason] : []));
    const why = first instanceof Error ? first.message : String(first);
    throw new Away(
      `no node of the Redis Cluster answers: ${asked.join(', ')} (${why})`,
      'start them, or correct REDIS_CLUSTER_NODES, REDIS_USERNAME, REDIS_PASSWORD and REDIS_TLS',
    );
  }
  const nodes = await Promise.all(
    view.nodes.map(async ({ host, port, flags, ...node }): Promise<NodeFacts> => {
      const name = `${host}:${port}`;
      const answer = await askNode(name, login, answerOf).catch((error: unknown) => toError(error));
      return { ...node, name, hasFailed: flags.includes('fail'), answer };
    }),
  );
  const [global, ...shards] = tags.map((tag, index) => ({ tag, slot: view.slots[index] ?? 0 }));
  if (global === undefined) throw new Error('there is no tag');
  return { nodes, shards, global };
}

/** Returns the nodes of the cluster, as this node sees them, and the slots of the relay's hash tags. */
async function viewOf(redis: Redis, host: string, tags: readonly string[]) {
  const said = String(await redis.cluster('NODES'));
  const slots = await Promise.all(tags.map((tag) => redis.cluster('KEYSLOT', tag)));
  const nodes = nodesOf(said, host).filter(({ flags }) => !flags.some((flag) => STRANGERS.has(flag)));
  return { nodes, slots };
}

/**
 * Returns how far the view of a node can be trusted. The number of nodes that it can reach counts first, then the number of
 * slots that they serve. A node that is cut off from the cluster reaches few nodes, and does not know which nodes have taken
 * their slots.
 */
function weightOf({ nodes }: { readonly nodes: readonly ClusterNode[] }): number {
  const known = nodes.filter(({ flags }) => !flags.includes('fail') && !flags.includes('fail?')).length;
  const covered = nodes
    .filter(({ flags }) => !flags.includes('fail'))
    .flatMap(({ slots }) => slots)
    .reduce((sum, [first, last]) => sum + last - first + 1, 0);
  return known * 2 * SLOTS + covered;
}

async function answerOf(redis: Redis): Promise<NodeAnswer> {
  const [info, cluster, appendfsync, fullCoverage] = await Promise.all([
    redis.info(),
    redis.cluster('INFO').catch(() => ''),
    settingOf(redis, 'appendfsync'),
    settingOf(redis, 'cluster-require-full-coverage'),
  ]);
  const state = /^cluster_state:(\w+)/m.exec(cluster)?.[1];
  return { info, state, config: { appendfsync, 'cluster-require-full-coverage': fullCoverage } };
}

const toError = (thrown: unknown): Error => (thrown instanceof Error ? thrown : new Error(String(thrown)));

/** Share of maxmemory above which the doctor warns, as the alert RelayRedisMemory does. Workers pause reading at 0.7. */
const FULL = 0.6;

type Answered = Pick<NodeFacts, 'name'> & { readonly answer: NodeAnswer };

/**
 * Checks the settings, version and memory of each node. Replicas are checked too, because a replica can become the primary.
 */
export function settingFindings({ nodes, shards }: ClusterFacts, environment: string): Finding[] {
  const answered = nodes.flatMap(({ name, answer }) => (answer instanceof Error ? [] : [{ name, answer }]));
  if (answered.length === 0) return [];
  const settings = answered.flatMap(({ name, answer: { info, config } }) => {
    const found = [...redisFindings(info, environment, config['appendfsync']), ...coverage(shards.length, config)];
    return found.map((finding) => ({ name, finding }));
  });
  return [...together(settings, answered.length), versions(answered), memory(answered)];
}

/**
 * By default a cluster stops completely if one slot is not served. With a single shard this makes no difference, so it is
 * not checked.
 */
function coverage(shards: number, { 'cluster-require-full-coverage': required }: NodeAnswer['config']): Finding[] {
  const check = 'cluster coverage';
  if (shards === 1 || required === undefined) return [];
  if (required === 'no') return [ok(check, 'a shard that is not served stops no other')];
  return [
    warning(
      check,
      'cluster-require-full-coverage is yes: one shard that is not served stops all of them',
      setting('cluster-require-full-coverage no'),
    ),
  ];
}

/** Merges equal findings about several nodes into one finding that lists the nodes. */
function together(settings: readonly { name: string; finding: Finding }[], count: number): Finding[] {
  const groups = new Map<string, { finding: Finding; names: string[] }>();
  for (const { name, finding } of settings) {
    const key = `${finding.check}\n${finding.text}`;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, { finding, names: [name] });
    else group.names.push(name);
  }
  return [...groups.values()].map(({ finding: { check, state, text, fix }, names }): Finding => {
    const who = names.length === count ? `all ${count} nodes` : names.join(', ');
    const said = { check, state, text: `${who}: ${text}` };
    return fix === undefined ? said : Object.assign(said, { fix: `at ${who}: ${fix}` });
  });
}

function versions(answered: readonly Answered[]): Finding {
  const check = 'redis version';
  const byVersion = new Map<string, string[]>();
  for (const { name, answer } of answered) {
    const version = versionIn(answer.info);
    byVersion.set(version, [...(byVersion.get(version) ?? []), name]);
  }
  const [first] = byVersion.keys();
  if (byVersion.size === 1) return ok(check, `all ${answered.length} nodes run ${first}`);
  const texts = [...byVersion].map(([version, names]) => `${version} at ${names.join(', ')}`);
  return warning(check, `the nodes run ${texts.join('; ')}`, 'bring all to the newest of these, replicas first');
}

/**
 * Returns name and version of the server. Valkey also reports a version of Redis, so the version of Valkey is looked for
 * first.
 */
function versionIn(info: string): string {
  const valkey = infoField(info, 'valkey_version');
  return valkey === undefined ? `Redis ${infoField(info, 'redis_version')}` : `Valkey ${valkey}`;
}

function memory(answered: readonly Answered[]): Finding {
  const check = 'redis memory use';
  const uses = answered
    .map(({ name, answer: { info } }) => {
      const [used, max] = [Number(infoField(info, 'used_memory') ?? 0), Number(infoField(info, 'maxmemory') ?? 0)];
      const share = max === 0 ? 0 : used / max;
      return { share, text: max === 0 ? `${name} ${toMiB(used)} MiB` : `${name} ${Math.round(share * 100)} %` };
    })
    .toSorted((one, other) => other.share - one.share);
  const text = `used of maxmemory: ${uses.map((use) => use.text).join(', ')}`;
  if (uses.every(({ share }) => share <= FULL)) return ok(check, text);
  return warning(
    check,
    text,
    'raise maxmemory at the fullest, or move a shard to another node; purge dead letters that nobody wants',
  );
}

const toMiB = (bytes: number): number => Math.round(bytes / 1_024 / 1_024);

/** Seconds without a report after which a replica is regarded as behind. A replica reports its offset every second. */
const SILENT_S = 10;
const BEHIND_BYTES = 16 * 1_024 * 1_024;

/** Checks that each primary with slots has a replica that can replace it, and how much data that replica lacks. */
export function replicaFindings({ nodes }: ClusterFacts, environment: string): Finding[] {
  const serving = nodes.filter((node) => node.slots.length > 0 && faultOf(node) === undefined);
  const found = serving.flatMap((node) => replicasOf(node, nodes));
  if (found.some(({ state }) => state === 'warning') && environment === 'development')
    return [ok('replicas', 'some are missing or behind, as is usual with RELAY_ENV=development')];
  if (found.length > 0) return found;
  const most = Math.max(0, ...serving.flatMap((node) => followersOf(node).map(({ behind }) => behind)));
  return [ok('replicas', `every primary has one that follows, at most ${most} bytes behind`)];
}

function replicasOf(node: NodeFacts, nodes: readonly NodeFacts[]): Finding[] {
  const followers = followersOf(node);
  const online = followers.filter(({ isOnline }) => isOnline);
  const copied = followers.filter(({ isOnline }) => !isOnline).map(({ name }) => name);
  if (online.length === 0) {
    const text =
      copied.length > 0
        ? `${node.name} has no replica yet: ${copied.join(', ')} is still getting its data`
        : `${node.name} has no replica that is connected`;
    const lost = `${text}: if it fails, its shards stop, and are lost with its disk`;
    return [warning('replicas', lost, fixOf(node, nodes))];
  }
  const best = online.toSorted((one, other) => one.silentS - other.silentS || one.behind - other.behind)[0];
  if (best === undefined || (best.silentS < SILENT_S && best.behind < BEHIND_BYTES)) return [];
  const text = `${best.name}, the replica of ${node.name} that is least behind, lacks ${best.behind} bytes and has said nothing for ${best.silentS} s: after a failover what it lacks is delivered again`;
  return [warning('replicas', text, 'look at its load, its disk and the network between both')];
}

function fixOf({ id, name }: NodeFacts, nodes: readonly NodeFacts[]): string {
  const own = nodes.filter(({ follows }) => follows === id).map((node) => node.name);
  const start = own.length > 0 ? `start ${own.join(' or ')}, or ` : '';
  return `${start}add one: \`redis-cli --cluster add-node NEW_HOST:PORT ${name} --cluster-slave --cluster-master-id ${id}\``;
}

/**
 * Returns the replicas that a primary lists in INFO, beside `master_repl_offset`, as in
 * `slave0:ip=10.0.0.2,port=6379,state=online,offset=140,lag=0`.
 */
function followersOf({ answer }: NodeFacts) {
  if (answer instanceof Error) return [];
  const written = Number(infoField(answer.info, 'master_repl_offset') ?? 0);
  return [...answer.info.matchAll(/^slave\d+:(\S+)/gm)].map(([, line = '']) => {
    const fields = Object.fromEntries(line.split(',').map((part) => part.split('=') as [string, string]));
    return {
      name: `${fields['ip']}:${fields['port']}`,
      isOnline: fields['state'] === 'online',
      silentS: Number(fields['lag'] ?? 0),
      behind: Math.max(0, written - Number(fields['offset'] ?? 0)),
    };
  });
}

/**
 * Clock difference in ms from which on it is a fault. All nodes are asked at the same time, and each answers within a
 * second.
 */
const BEARABLE_MS = 5_000;

/** Compares the clock of each node with that of the node that has the global keys, whose time all processes use. */
export function clockFindings({ nodes, global }: ClusterFacts): Finding[] {
  const leading = nodeOf(nodes, global.slot);
  const leads = timeOf(leading);
  if (leading === undefined || leads === undefined) return [];
  const wrong = nodes.flatMap((node) => {
    const aheadMs = (timeOf(node) ?? leads) - leads;
    if (Math.abs(aheadMs) < BEARABLE_MS) return [];
    const seconds = Math.round(Math.abs(aheadMs) / 1_000);
    return [
      fault(
        'cluster clocks',
        `${node.name} is ${seconds} s ${aheadMs > 0 ? 'ahead of' : 'behind'} ${leading.name}, whose time all processes take: seen marks there last longer or shorter, and its promotion may move the time`,
        'synchronise the clocks of all machines by NTP, such as with chrony',
      ),
    ];
  });
  return wrong.length === 0 ? [ok('cluster clocks', 'agree')] : wrong;
}

/** Returns the time of a node in epoch milliseconds; undefined if the node does not answer. */
function timeOf(node: NodeFacts | undefined): number | undefined {
  if (node === undefined || node.answer instanceof Error) return undefined;
  const micros = infoField(node.answer.info, 'server_time_usec');
  return micros === undefined ? undefined : Number(micros) / 1_000;
}
