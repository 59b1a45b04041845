import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { Redis } from 'ioredis';
import { freePort } from './free-port.js';

/** A redis-server of one spec: without persistence by default, on a free port of 127.0.0.1, ended with the process that started it. */
export interface RedisServer {
  readonly port: number;
  readonly process: ChildProcess;
  /** `redis://127.0.0.1:<port>/<database>`; specs that share a server use databases of their own. */
  url(database?: number): string;
  stop(): Promise<void>;
}

/**
 * Starts the installed `redis-server`; resolves when it accepts connections. `port` lets a stopped one come back.
 * @param folder for an append-only file; without it there is none
 * @param options further options, which take precedence
 */
export async function startRedisServer(
  port?: number,
  folder?: string,
  options: readonly string[] = [],
): Promise<RedisServer> {
  const chosen = port ?? (await freePort());
  const kept =
    folder === undefined ? ['--appendonly', 'no'] : ['--appendonly', 'yes', '--appendfsync', 'always', '--dir', folder];
  const args = ['--port', String(chosen), '--bind', '127.0.0.1', '--save', '', ...kept, ...options];
  const child = spawn('redis-server', args, { stdio: ['ignore', 'pipe', 'ignore'] });
  // Jest hides the real `process`, and a killed process runs no handler: only the end of a pipe always happens.
  const watchdog = spawn('sh', ['-c', `read _; kill -9 ${child.pid}`], { stdio: ['pipe', 'ignore', 'ignore'] });
  await readiness(child);
  return {
    port: chosen,
    process: child,
    url: (database = 0) => `redis://127.0.0.1:${chosen}/${database}`,
    stop: async () => {
      watchdog.kill('SIGKILL');
      if (child.exitCode !== null || child.signalCode !== null) return;
      const gone = once(child, 'exit');
      child.kill('SIGKILL');
      await gone;
    },
  };
}

function readiness(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    let output = '';
    child.stdout?.on('data', (chunk: Buffer) => {
      output = (output + chunk.toString()).slice(-4_096);
      if (output.includes('Ready to accept connections')) resolve();
    });
    child.once('error', reject);
    child.once('exit', () => reject(new Error(`redis-server ended before it was ready: ${output}`)));
  });
}

/**
 * A Redis of one spec file, and a client of it. Both end after the file's last test.
 * To be called where the file begins, outside of `describe`.
 * @param options what BullMQ demands of a connection that blocks
 */
export async function redisOfSpec(
  options: { readonly maxRetriesPerRequest?: null } = {},
): Promise<{ server: RedisServer; redis: Redis }> {
  const server = await startRedisServer();
  const redis = new Redis(server.url(), options);
  afterAll(async () => {
    redis.disconnect();
    await server.stop();
  });
  return { server, redis };
}
