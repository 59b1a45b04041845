import { setTimeout as delay } from 'node:timers/promises';
import { askNode, type NodeLogin } from './cluster-node.adapter.js';
import { claimsOf, primaryOf, type Claim } from './cluster-nodes.js';

/** A failed node ends its connections within some milliseconds. */
const TOGETHER_MS = 10;

/** What the nodes said, and the slots of the keys that were asked for. */
interface Said {
  readonly slots: ReadonlyMap<string, number>;
  readonly claims: readonly Claim[];
}

/**
 * Looks which node of a Redis Cluster is the primary of a slot. Several nodes are asked, and the claim of the latest epoch counts: a
 * primary that was cut off still takes itself for one. Connections that look in the same moment share a look: a process with 16 shards
 * would otherwise ask every node some fifty times at its start.
 */
export class ClusterLook {
  #known: readonly string[];
  #next: Promise<Said> | undefined;
  #keys = new Set<string>();

  /** @param nodes some nodes of the cluster as host:port; the others are learned from them */
  constructor(private readonly nodes: readonly string[]) {
    this.#known = nodes;
  }

  /** @throws Error when no node answers, or none serves the slot of the key */
  async primaryOf(key: string, login: NodeLogin): Promise<Claim> {
    this.#keys.add(key);
    this.#next ??= delay(TOGETHER_MS).then(() => this.#look(login));
    const { slots, claims } = await this.#next;
    const slot = slots.get(key) ?? 0;
    const latest = primaryOf(claims, slot);
    if (latest === undefined) throw new Error(`No node of the Redis Cluster serves slot ${slot}`);
    return latest;
  }

  async #look(login: NodeLogin): Promise<Said> {
    const keys = [...this.#keys];
    this.#keys = new Set();
    this.#next = undefined;
    const asked = [...new Set([...this.#known, ...this.nodes])];
    const answers = await Promise.allSettled(asked.map((node) => ask(node, keys, login)));
    const told = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []));
    if (told[0] === undefined) throw new Error(`No node of the Redis Cluster answers: ${asked.join(', ')}`);
    const claims = told.flatMap((one) => one.claims);
    this.#known = [...new Set(claims.map(({ host, port }) => `${host}:${port}`))];
    return { slots: told[0].slots, claims };
  }
}

/** The slots of keys, and what one node says of all. @throws Error when it does not answer */
const ask = (node: string, keys: readonly string[], login: NodeLogin): Promise<Said> =>
  askNode(node, login, async (redis, host) => {
    const slots = Promise.all(keys.map(async (key) => [key, await redis.cluster('KEYSLOT', key)] as const));
    const [found, said] = await Promise.all([slots, redis.cluster('NODES')]);
    return { slots: new Map(found), claims: claimsOf(String(said), host) };
  });
