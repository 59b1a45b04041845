import { connect as connectPlain } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { connect as connectSecured } from 'node:tls';
import { AbstractConnector, type RedisOptions } from 'ioredis';
import { askNode, type NodeLogin } from './cluster-node.adapter.js';
import { claimsOf, primaryOf, type Claim } from './cluster-nodes.js';

type Connector = NonNullable<RedisOptions['Connector']>;
type Connected = Awaited<ReturnType<AbstractConnector['connect']>>;

const AGAIN_MS = 500;

/**
 * A way for a `Redis` of ioredis to the primary of Redis Cluster that serves the hash slot of one key. All keys of the relay are in one
 * slot, so its commands, transactions and scripts need no client that knows every node.
 *
 * Several nodes are asked, and the claim of the latest epoch counts: a primary that was cut off still takes itself for one.
 * @param nodes some nodes of the cluster as host:port; the others are learned from them
 */
export function clusterConnector(nodes: readonly string[], key: string): Connector {
  let known: readonly string[] = nodes;

  return class extends AbstractConnector {
    readonly #options: RedisOptions;

    constructor(options: unknown) {
      const own = options as RedisOptions;
      super(own.disconnectTimeout ?? 2_000);
      this.#options = own;
    }

    /** Repeats until a primary is found: ioredis never connects again after a connector has failed. */
    async connect(tell: (type: string, error: Error) => void): Promise<Connected> {
      this.connecting = true;
      for (;;) {
        try {
          const { host, port } = await this.#primary();
          if (!this.connecting) throw new Error('Connection is closed.');
          return this.#open(host, port);
        } catch (error) {
          if (!this.connecting) throw error;
          tell('error', error instanceof Error ? error : new Error(String(error)));
          await delay(AGAIN_MS);
        }
      }
    }

    #open(host: string, port: number): Connected {
      const { tls } = this.#options;
      const stream = tls === undefined ? connectPlain({ host, port }) : connectSecured({ host, port, ...tls });
      stream.once('error', (error: Error) => {
        this.firstError = error;
      });
      this.stream = stream;
      return stream;
    }

    async #primary(): Promise<Claim> {
      const asked = [...new Set([...known, ...nodes])];
      const answers = await Promise.allSettled(asked.map((node) => ask(node, key, this.#options)));
      const told = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []));
      if (told[0] === undefined) throw new Error(`No node of the Redis Cluster answers: ${asked.join(', ')}`);
      const { slot } = told[0];
      const claims = told.flatMap((one) => one.claims);
      known = [...new Set(claims.map(({ host, port }) => `${host}:${port}`))];
      const latest = primaryOf(claims, slot);
      if (latest === undefined) throw new Error(`No node of the Redis Cluster serves slot ${slot}`);
      return latest;
    }
  };
}

/** The slot of a key, and what one node says of all. @throws Error when it does not answer */
const ask = (node: string, key: string, login: NodeLogin): Promise<{ slot: number; claims: Claim[] }> =>
  askNode(node, login, async (redis, host) => {
    const [slot, said] = await Promise.all([redis.cluster('KEYSLOT', key), redis.cluster('NODES')]);
    return { slot, claims: claimsOf(String(said), host) };
  });
