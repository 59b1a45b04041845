import { setTimeout as delay } from 'node:timers/promises';
import { AbstractConnector, type RedisOptions } from 'ioredis';
import type { ClusterLook } from './cluster-look.adapter.js';
import { open, primaryOnly, type Connected, type Connector } from './primary-connector.adapter.js';

const AGAIN_MS = 500;

/**
 * A way for a `Redis` of ioredis to the primary of Redis Cluster that serves the hash slot of one key. All keys of a connection are in
 * one slot, so its commands, transactions and scripts need no client that knows every node.
 */
export function clusterConnector(look: ClusterLook, key: string): Connector {
  class ClusterConnector extends AbstractConnector {
    readonly #options: RedisOptions;

    constructor(options: RedisOptions) {
      super(options.disconnectTimeout ?? 2_000);
      this.#options = options;
    }

    /** Repeats until a primary is found: ioredis never connects again after a connector has failed. */
    async connect(tell: (type: string, error: Error) => void): Promise<Connected> {
      this.connecting = true;
      for (;;) {
        try {
          const { host, port } = await look.primaryOf(key, this.#options);
          if (!this.connecting) throw new Error('Connection is closed.');
          this.stream = open({ ...this.#options, host, port });
          this.stream.once('error', (error: Error) => {
            this.firstError = error;
          });
          return this.stream;
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
