import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { onlyShard, readDisk } from '@relay/redis';
import type { Redis } from 'ioredis';
import { until } from './until.js';

const run = promisify(execFile);
const scripts = join(import.meta.dirname, '..', '..', 'scripts');

/** `kafka` is the only broker, the others are those of a cluster. */
export type Service = 'redis' | 'kafka' | 'kafka-1' | 'kafka-2' | 'kafka-3';

interface Running {
  readonly pid: number;
  readonly port: number;
}
type Broker = Running & { readonly node: number };

/** A Kafka and a Redis of a spec's own, which it may kill and bring back: the others' must not notice. */
export class Servers {
  readonly #home: string;
  #brokers: readonly Broker[] = [];

  private constructor(
    folder: string,
    /** Three brokers instead of one. */
    private readonly isCluster: boolean,
  ) {
    this.#home = mkdtempSync(join(folder, 'relay-servers-'));
  }

  /**
   * @param folder where their data stands: in `npm test` its private home, which is emptied even when the run is interrupted
   * @param isCluster three brokers of one cluster instead of one
   */
  static async start(folder = process.env['RELAY_HOME'] ?? tmpdir(), isCluster = false): Promise<Servers> {
    const servers = new Servers(folder, isCluster);
    await servers.#up({ KAFKA_PORT: '0', KAFKA_CONTROLLER_PORT: '0', REDIS_PORT: '0' });
    return servers;
  }

  /** Where the settings of these servers stand, for `Stack.open`. */
  get envFile(): string {
    return join(this.#home, 'dev.env');
  }

  /** Starts what is not running, with its data and on its port. */
  async bringUp(): Promise<void> {
    await this.#up();
  }

  kill(service: Service): void {
    process.kill(this.#running(service).pid, 'SIGKILL');
  }

  /** Kills it; resolves when it has ended and its files may be changed. */
  async killed(service: Service): Promise<void> {
    const { pid } = this.#running(service);
    process.kill(pid, 'SIGKILL');
    await until(`${service} has ended`, () => !isRunning(pid), { withinMs: 30_000 });
  }

  /** Stops it as it stands: its connections stay, nothing is answered. */
  freeze(service: Service): void {
    process.kill(this.#running(service).pid, 'SIGSTOP');
  }

  thaw(service: Service): void {
    process.kill(this.#running(service).pid, 'SIGCONT');
  }

  /** Asks it to end; resolves when it has. */
  async stop(service: Service): Promise<void> {
    const { pid } = this.#running(service);
    process.kill(pid, 'SIGTERM');
    await until(`${service} has ended`, () => !isRunning(pid), { withinMs: 30_000 });
  }

  isRunning(service: Service): boolean {
    return isRunning(this.#running(service).pid);
  }

  /** Where a service answers, on 127.0.0.1. */
  port(service: Service): number {
    return this.#running(service).port;
  }

  /** Where a service keeps its data. */
  folder(service: Service): string {
    return join(this.#home, service);
  }

  /** The file that Redis writes to, rewritten now if it was not: the worker leaves it as it is until Redis is started again. */
  async appendOnlyFile(redis: Redis): Promise<string> {
    const isRewritten = async (): Promise<boolean> => (await readDisk(onlyShard(redis))).isRewritten;
    // Redis refuses while one is running.
    if (!(await isRewritten())) await redis.bgrewriteaof().catch(() => undefined);
    await until('the append-only file is rewritten', () => isRewritten().catch(() => false), { withinMs: 30_000 });
    const folder = join(this.#home, 'redis', 'appendonlydir');
    const names = readdirSync(folder).filter((file) => file.endsWith('.incr.aof'));
    const newest = names.toSorted((a, b) => sequenceOf(a) - sequenceOf(b)).at(-1);
    if (newest === undefined) throw new Error(`there is no append-only file in ${folder}`);
    return join(folder, newest);
  }

  async end(): Promise<void> {
    await this.#run('stack.mjs', ['down'], {});
    if (this.isCluster) await this.#run('kafka-cluster.mjs', ['down', this.#home], {});
    rmSync(this.#home, { recursive: true, force: true });
  }

  #running(service: Service): Running {
    const found =
      service === 'kafka' || service === 'redis'
        ? (JSON.parse(readFileSync(join(this.#home, 'stack.json'), 'utf8')) as Record<string, Running>)[service]
        : this.#brokers.find(({ node }) => service === `kafka-${node}`);
    if (found === undefined) throw new Error(`${service} does not run here`);
    return found;
  }

  async #up(ports: Readonly<Record<string, string>> = {}): Promise<void> {
    if (!this.isCluster) {
      await this.#run('stack.mjs', ['up'], ports);
      return;
    }
    const printed = await this.#run('kafka-cluster.mjs', ['up', this.#home], {});
    this.#brokers = JSON.parse(printed.trim().split('\n').at(-1) ?? '') as Broker[];
    const brokers = this.#brokers.map(({ port }) => `127.0.0.1:${port}`).join(',');
    await this.#run('stack.mjs', ['up'], { REDIS_PORT: ports['REDIS_PORT'] ?? '', KAFKA_BROKERS: brokers });
  }

  async #run(script: string, args: readonly string[], env: Readonly<Record<string, string>>): Promise<string> {
    const { KAFKA_BROKERS: _brokers, REDIS_URL: _url, ...rest } = process.env;
    const { stdout } = await run(process.execPath, [join(scripts, script), ...args], {
      env: { ...rest, ...env, RELAY_HOME: this.#home },
    });
    return stdout;
  }
}

const sequenceOf = (name: string): number => Number(/\.(\d+)\.incr/.exec(name)?.[1]);

/** A process whose exit code was not read yet has ended all the same. */
function isRunning(pid: number): boolean {
  try {
    return !readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z');
  } catch {
    return false;
  }
}
