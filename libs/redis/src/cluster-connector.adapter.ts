import { connect as connectPlain } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { connect as connectSecured } from 'node:tls';
import { AbstractConnector, type RedisOptions } from 'ioredis';
import type { ClusterLook } from './cluster-look.adapter.js';

type Connector = NonNullable<RedisOptions['Connector']>;
type Connected = Awaited<ReturnType<AbstractConnector['connect']>>;

const AGAIN_MS = 500;

/**
 * A way for a `Redis` of ioredis to the primary of Redis Cluster that serves the hash slot of one key. All keys of a connection are in
 * one slot, so its commands, transactions and scripts need no client that knows every node.
 */
export function clusterConnector(look: ClusterLook, key: string): Connector {
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
          const { host, port } = await look.primaryOf(key, this.#options);
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
  };
}
