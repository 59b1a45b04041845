import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startRedisServer, TcpProxy, type RedisServer } from '@relay/testing';
import { Redis } from 'ioredis';
import type { FailoverRedis } from './failover-redis.js';
import type { Settings } from './stack.js';
import { until } from './until.js';

const OPTIONS = ['--repl-diskless-sync-delay', '0'];

interface Node {
  readonly server: RedisServer;
  readonly look: Redis;
}

/**
 * A Redis with a replica behind one address, as a managed service, a Service of Kubernetes or HAProxy has it. When the address leads
 * to the other one, open connections stay where they are.
 */
export class AddressedRedis implements FailoverRedis {
  private constructor(
    private readonly folders: readonly string[],
    private primary: Node,
    private replica: Node,
    private readonly address: TcpProxy,
  ) {}

  static async start(): Promise<AddressedRedis> {
    const folders = [1, 2].map(() => mkdtempSync(join(tmpdir(), 'relay-addressed-')));
    const [primary, replica] = (await Promise.all(folders.map(open))) as [Node, Node];
    const started = new AddressedRedis(folders, primary, replica, await TcpProxy.before(primary.server.port));
    await started.#follow();
    return started;
  }

  get settings(): Settings {
    return { REDIS_URL: `redis://127.0.0.1:${this.address.port}` };
  }

  async killPrimary(): Promise<void> {
    this.primary.server.process.kill('SIGKILL');
    await this.#promote();
    this.moveAddress();
  }

  async freezePrimary(): Promise<() => void> {
    const { process } = this.primary.server;
    process.kill('SIGSTOP');
    await this.#promote();
    this.moveAddress();
    return () => process.kill('SIGCONT');
  }

  async handOver(): Promise<void> {
    await this.changeRoles();
    this.moveAddress();
  }

  /** The replica becomes the primary and the old primary its replica; the address still leads to the old one. */
  async changeRoles(): Promise<void> {
    await this.#promote();
    await this.#follow();
  }

  moveAddress(): void {
    this.address.ports = [this.primary.server.port];
  }

  async primaryPort(): Promise<number> {
    return this.primary.server.port;
  }

  async close(): Promise<void> {
    await this.address.close();
    for (const { look, server } of [this.primary, this.replica]) {
      look.disconnect();
      await server.stop();
    }
    for (const folder of this.folders) rmSync(folder, { recursive: true, force: true });
  }

  async #promote(): Promise<void> {
    await this.replica.look.replicaof('NO', 'ONE');
    [this.primary, this.replica] = [this.replica, this.primary];
  }

  async #follow(): Promise<void> {
    const { look } = this.replica;
    await look.replicaof('127.0.0.1', this.primary.server.port);
    await until('the replica follows', async () => (await look.info('replication')).includes('master_link_status:up'));
  }
}

async function open(folder: string): Promise<Node> {
  const server = await startRedisServer(undefined, folder, OPTIONS);
  const look = new Redis(server.url());
  look.on('error', () => undefined);
  return { server, look };
}
