import { askNode, GLOBAL_TAG, nodeLogin, nodesOf, shardTags, type ClusterNode, type RedisSettings } from '@relay/redis';
import type { Redis } from 'ioredis';
import { clockFindings, replicaFindings, settingFindings } from './cluster-settings.js';
import {
  shardFindings,
  SLOTS,
  stateFindings,
  type ClusterFacts,
  type NodeAnswer,
  type NodeFacts,
} from './cluster-state.js';
import { Away, type Finding } from './finding.js';
import { settingOf } from './redis-info.js';

/** A node that left, or is not known yet. */
const STRANGERS = new Set(['noaddr', 'handshake']);

/** Examines every node of a Redis Cluster. @param environment RELAY_ENV @throws Away when none of the nodes that are named answers */
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

/** The nodes as one of them sees them, and the slots of the relay's keys. */
async function viewOf(redis: Redis, host: string, tags: readonly string[]) {
  const said = String(await redis.cluster('NODES'));
  const slots = await Promise.all(tags.map((tag) => redis.cluster('KEYSLOT', tag)));
  const nodes = nodesOf(said, host).filter(({ flags }) => !flags.some((flag) => STRANGERS.has(flag)));
  return { nodes, slots };
}

/** A node that was cut off misses the others, and does not know who took its slots: the latest epoch that counts is elsewhere. */
function weightOf({ nodes }: { readonly nodes: readonly ClusterNode[] }): number {
  const known = nodes.filter(({ flags }) => !flags.includes('fail') && !flags.includes('fail?')).length;
  const covered = nodes
    .filter(({ flags }) => !flags.includes('fail'))
    .flatMap(({ slots }) => slots)
    .reduce((sum, [first, last]) => sum + last - first + 1, 0);
  return known * 2 * SLOTS + covered;
}

async function answerOf(redis: Redis): Promise<NodeAnswer> {
  const [info, cluster, appendfsync, coverage] = await Promise.all([
    redis.info(),
    redis.cluster('INFO').catch(() => ''),
    settingOf(redis, 'appendfsync'),
    settingOf(redis, 'cluster-require-full-coverage'),
  ]);
  const state = /^cluster_state:(\w+)/m.exec(cluster)?.[1];
  return { info, state, config: { appendfsync, 'cluster-require-full-coverage': coverage } };
}

const toError = (thrown: unknown): Error => (thrown instanceof Error ? thrown : new Error(String(thrown)));
