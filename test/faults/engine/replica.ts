import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '@relay/testing';
import { Redis } from 'ioredis';
import type { Servers } from '../../support/servers.js';
import { until } from '../../support/until.js';

/** A replica of the servers' Redis that can take its place. */
export class Replica {
  private constructor(
    private readonly child: ChildProcess,
    private readonly folder: string,
    private readonly redis: Redis,
    private readonly port: number,
  ) {}

  /** Resolves when it has everything that the Redis has. */
  static async start(servers: Servers): Promise<Replica> {
    const folder = mkdtempSync(join(tmpdir(), 'relay-replica-'));
    const [port, own] = [servers.port('redis'), await freePort()];
    const options = {
      port: own,
      bind: '127.0.0.1',
      dir: folder,
      appendonly: 'yes',
      appendfsync: 'always',
      'maxmemory-policy': 'noeviction',
      save: '',
      databases: 64,
    };
    const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)]);
    args.push('--replicaof', '127.0.0.1', String(port));
    const child = spawn('redis-server', args, { stdio: 'ignore' });
    const replica = new Replica(child, folder, new Redis(own), port);
    replica.redis.on('error', () => undefined);
    await until('the replica has everything', async () =>
      (await replica.redis.info('replication')).includes('master_link_status:up'),
    );
    return replica;
  }

  /** It follows no more: what is written from now on it does not have. */
  async detach(): Promise<void> {
    await this.redis.replicaof('NO', 'ONE');
  }

  /** Answers on the port of the Redis, as soon as that has ended. */
  async takeOver(): Promise<void> {
    const taken = (): Promise<boolean> =>
      this.redis.config('SET', 'port', String(this.port)).then(
        () => true,
        () => false,
      );
    await until('the port of the old Redis is free', taken);
  }

  async end(): Promise<void> {
    this.redis.disconnect();
    const gone = once(this.child, 'exit');
    this.child.kill('SIGKILL');
    await gone;
    rmSync(this.folder, { recursive: true, force: true });
  }
}
