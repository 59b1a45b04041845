import { setTimeout as delay } from 'node:timers/promises';
import { Redis, type RedisOptions } from 'ioredis';
import { AddressConnector, primaryOnly, type Connector, type Tell } from './primary-connector.adapter.js';

/** A node of Redis Cluster and the slots that it claims, as a node reports them. */
interface Claim {
  host: string;
  port: number;
  /** Grows with each failover. If two nodes claim a slot, the node with the higher epoch has the slot. */
  epoch: number;
  /** First and last slot of each range; empty for a replica. */
  slots: (readonly [first: number, last: number])[];
}

/** One node, as another node or the node itself describes it. */
export interface ClusterNode extends Claim {
  id: string;
  /** Flags, such as `master`, `slave`, `myself`, `fail?` and `fail`. */
  flags: readonly string[];
  /** Id of the primary that a replica follows. */
  follows?: string;
  /** Slots that the node gives away or gets, such as `[93->-<id>]` and `[93-<-<id>]`. */
  moving: readonly string[];
}

const DOWN = new Set(['fail', 'noaddr', 'handshake']);

/**
 * Reads the answer to `CLUSTER NODES`.
 * @param asked the host that answered, because a node may not know its own address
 * @see https://redis.io/docs/latest/commands/cluster-nodes/
 */
export function nodesOf(answer: string, asked: string): ClusterNode[] {
  return answer
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const [id = '', address = '', flags = '', follows = '-', , , epoch = '0', , ...slots] = line.split(' ');
      const [place = '', hostname = ''] = address.split(',');
      const [, ip = '', port = ''] = /^(.*):(\d+)(?:@\d+)?$/.exec(place) ?? [];
      const node: ClusterNode = {
        id,
        host: hostname || ip || asked,
        port: Number(port),
        flags: flags.split(','),
        epoch: Number(epoch),
        slots: slots.flatMap(rangeOf),
        moving: slots.filter((text) => text.startsWith('[')),
      };
      if (follows !== '-') node.follows = follows;
      return node;
    });
}

/** Returns the claims of all nodes that the cluster does not regard as failed. @param asked as for `nodesOf` */
export const claimsOf = (answer: string, asked: string): Claim[] =>
  nodesOf(answer, asked)
    .filter(({ flags }) => !flags.some((flag) => DOWN.has(flag)))
    .map(({ host, port, epoch, slots }) => ({ host, port, epoch, slots }));

/**
 * Returns the node that serves a slot: the one with the latest claim, because a primary that was cut off still claims its
 * slots.
 */
export const primaryOf = (claims: readonly Claim[], slot: number): Claim | undefined =>
  claims
    .filter(({ slots }) => slots.some(([first, last]) => first <= slot && slot <= last))
    .toSorted((one, other) => other.epoch - one.epoch)[0];

/**
 * Returns a range of slots. A slot in brackets is being moved; it is left out, because the range of its owner contains it.
 */
function rangeOf(text: string): [readonly [number, number]] | [] {
  const [, first, last = first] = /^(\d+)(?:-(\d+))?$/.exec(text) ?? [];
  return first === undefined ? [] : [[Number(first), Number(last)]];
}

export type NodeLogin = Pick<RedisOptions, 'username' | 'password' | 'tls'>;

/** Limit for the answer of one node. It may be short, because other nodes know the cluster too. */
const ANSWER_MS = 1_000;

/**
 * Asks one node of Redis Cluster on a connection of its own, and closes the connection after the answer.
 * @param node as host:port
 * @param work also gets the host of the node
 * @throws Error if the node does not answer within a second
 */
export async function askNode<T>(
  node: string,
  { username, password, tls }: NodeLogin,
  work: (redis: Redis, host: string) => Promise<T>,
): Promise<T> {
  const [host, port] = addressOf(node);
  const redis = new Redis({
    ...(username && { username }),
    ...(password && { password }),
    ...(tls && { tls }),
    host,
    port,
    lazyConnect: true,
    connectTimeout: ANSWER_MS,
    commandTimeout: ANSWER_MS,
    retryStrategy: () => null,
  });
  // ioredis rejects with "Connection is closed." and reports the cause by this event only.
  let cause: Error | undefined;
  redis.on('error', (error: Error) => {
    cause = error;
  });
  try {
    await redis.connect();
    return await work(redis, host);
  } catch (error) {
    throw cause ?? error;
  } finally {
    redis.disconnect();
  }
}

export function addressOf(server: string, usualPort = 6_379): [host: string, port: number] {
  const [, host = '', port = usualPort] = /^(.*?)(?::(\d+))?$/.exec(server) ?? [];
  return [host.replace(/^\[(.*)\]$/, '$1'), Number(port)];
}

/**
 * Calls within this time share one request to the nodes. A failed node ends all its connections within some milliseconds.
 */
const TOGETHER_MS = 10;

/** The slots of the requested keys, and the claims of all nodes. */
interface Said {
  readonly slots: ReadonlyMap<string, number>;
  readonly claims: readonly Claim[];
}

/**
 * Finds the node of a Redis Cluster that is the primary of a slot. It asks several nodes and takes the claim with the
 * highest epoch, because a primary that was cut off still claims its slots. Connections that ask at the same moment share
 * the answers. Otherwise a process with 16 shards asks every node some fifty times at its start.
 */
export class ClusterLook {
  #known: readonly string[];
  #next: Promise<Said> | undefined;
  #keys = new Set<string>();

  /** @param nodes some nodes of the cluster as host:port; the other nodes are learned from these */
  constructor(private readonly nodes: readonly string[]) {
    this.#known = nodes;
  }

  /** @throws Error if no node answers, or if no node serves the slot of the key */
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

/**
 * Returns the slots of the keys, and the claims of all nodes as one node reports them.
 * @throws Error if it does not answer
 */
const ask = (node: string, keys: readonly string[], login: NodeLogin): Promise<Said> =>
  askNode(node, login, async (redis, host) => {
    const slots = Promise.all(keys.map(async (key) => [key, await redis.cluster('KEYSLOT', key)] as const));
    const [found, said] = await Promise.all([slots, redis.cluster('NODES')]);
    return { slots: new Map(found), claims: claimsOf(String(said), host) };
  });

const AGAIN_MS = 500;

/**
 * Returns a connector that leads a `Redis` of ioredis to the primary of one hash slot in Redis Cluster: the slot of `key`.
 * All keys of the connection are in this slot, so its commands, transactions and scripts need no client that knows every
 * node.
 */
export function clusterConnector(look: ClusterLook, key: string): Connector {
  class ClusterConnector extends AddressConnector {
    /** Repeats until a primary is found, because ioredis never connects again after a connector has failed. */
    override async connect(tell: Tell) {
      this.connecting = true;
      for (;;) {
        try {
          const { host, port } = await look.primaryOf(key, this.options);
          if (!this.connecting) throw new Error('Connection is closed.');
          return this.opened({ ...this.options, host, port });
        } catch (error) {
          if (!this.connecting) throw error;
          tell('error', error instanceof Error ? error : new Error(String(error)));
          await delay(AGAIN_MS);
        }
      }
    }
  }
  return primaryOnly(ClusterConnector);
}
