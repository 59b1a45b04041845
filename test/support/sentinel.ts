import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '@relay/testing';
import { Redis } from 'ioredis';
import type { FailoverRedis } from './failover-redis.js';
import type { Settings } from './stack.js';
import { until } from './until.js';

const NAME = 'relay';
const SENTINELS = 3;
/** Of primary and replica, and of the sentinels. */
const [PASSWORD, SENTINEL_PASSWORD] = ['of-redis', 'of-the-sentinels'];
/** A primary that does not answer for so long is down. */
const DOWN_AFTER_MS = 1_000;

/** A Redis with a replica, watched by three sentinels that make the replica the primary when the primary is gone. */
export class SentinelRedis implements FailoverRedis {
  readonly #children: ChildProcess[] = [];
  readonly #folder = mkdtempSync(join(tmpdir(), 'relay-sentinel-'));
  #primary: ChildProcess | undefined;
  #sentinels: number[] = [];
  readonly #looks: Redis[] = [];

  static async start(): Promise<SentinelRedis> {
    const started = new SentinelRedis();
    const primary = await freePort();
    started.#primary = started.#server(primary);
    const replica = await freePort();
    started.#server(replica, '--replicaof', '127.0.0.1', String(primary));
    const look = started.#client(replica, PASSWORD);
    await until('the replica follows', async () =>
      (await look.info('replication').catch(() => '')).includes('master_link_status:up'),
    );
    started.#sentinels = await Promise.all(Array.from({ length: SENTINELS }, () => freePort()));
    for (const port of started.#sentinels) started.#sentinel(port, primary);
    for (const port of started.#sentinels) {
      const sentinel = started.#client(port, SENTINEL_PASSWORD);
      await until('the sentinels know each other and the replica', async () => {
        const text = await sentinel.info('sentinel').catch(() => '');
        return text.includes(`slaves=1,sentinels=${SENTINELS}`);
      });
    }
    return started;
  }

  get settings(): Settings {
    const sentinels = this.#sentinels.map((port) => `127.0.0.1:${port}`).join(',');
    return {
      REDIS_URL: '',
      REDIS_SENTINELS: sentinels,
      REDIS_SENTINEL_NAME: NAME,
      REDIS_PASSWORD: PASSWORD,
      REDIS_SENTINEL_PASSWORD: SENTINEL_PASSWORD,
    };
  }

  async killPrimary(): Promise<void> {
    this.#primary?.kill('SIGKILL');
  }

  async freezePrimary(): Promise<() => void> {
    const frozen = this.#primary;
    frozen?.kill('SIGSTOP');
    return () => frozen?.kill('SIGCONT');
  }

  async handOver(): Promise<void> {
    const before = await this.primaryPort();
    const [first = 0] = this.#sentinels;
    const sentinel = this.#client(first, SENTINEL_PASSWORD);
    await until('the replica is the primary', async () => {
      // Refused while one is under way. Soon after another one it is begun and given up.
      await sentinel.call('SENTINEL', 'FAILOVER', NAME).catch(() => undefined);
      await delay(1_000);
      return (await this.primaryPort()) !== before;
    });
    const old = this.#client(before, PASSWORD);
    await until('the old primary follows', async () =>
      (await old.info('replication')).includes('master_link_status:up'),
    );
  }

  async primaryPort(): Promise<number> {
    const [first = 0] = this.#sentinels;
    const answer = await this.#client(first, SENTINEL_PASSWORD).call('SENTINEL', 'get-master-addr-by-name', NAME);
    return Number((answer as string[])[1]);
  }

  async close(): Promise<void> {
    for (const look of this.#looks) look.disconnect();
    await Promise.all(
      this.#children.map(async (child) => {
        if (child.exitCode !== null || child.signalCode !== null) return;
        const gone = once(child, 'exit');
        child.kill('SIGKILL');
        await gone;
      }),
    );
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #server(port: number, ...more: string[]): ChildProcess {
    const dir = join(this.#folder, String(port));
    mkdirSync(dir);
    const options = { port, bind: '127.0.0.1', dir, appendonly: 'yes', 'maxmemory-policy': 'noeviction', save: '' };
    const passwords = ['--requirepass', PASSWORD, '--masterauth', PASSWORD];
    const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)]);
    return this.#spawn([...args, ...passwords, ...more]);
  }

  #sentinel(port: number, primary: number): void {
    const file = join(this.#folder, `sentinel-${port}.conf`);
    const quorum = Math.floor(SENTINELS / 2) + 1;
    const lines = [
      `port ${port}`,
      'bind 127.0.0.1',
      `dir ${this.#folder}`,
      `sentinel monitor ${NAME} 127.0.0.1 ${primary} ${quorum}`,
      `sentinel down-after-milliseconds ${NAME} ${DOWN_AFTER_MS}`,
      `sentinel failover-timeout ${NAME} 10000`,
      `sentinel auth-pass ${NAME} ${PASSWORD}`,
      `requirepass ${SENTINEL_PASSWORD}`,
      `sentinel sentinel-pass ${SENTINEL_PASSWORD}`,
    ];
    writeFileSync(file, `${lines.join('\n')}\n`);
    this.#spawn([file, '--sentinel']);
  }

  #spawn(args: readonly string[]): ChildProcess {
    const child = spawn('redis-server', args, { stdio: 'ignore' });
    this.#children.push(child);
    return child;
  }

  #client(port: number, password: string): Redis {
    const client = new Redis(port, { password });
    client.on('error', () => undefined);
    this.#looks.push(client);
    return client;
  }
}
