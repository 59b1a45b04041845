import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const script = join(import.meta.dirname, '..', '..', 'scripts', 'stack.mjs');

type Service = 'kafka' | 'redis';

/** A Kafka and a Redis of a spec's own, which it may kill and bring back: the others' must not notice. */
export class Servers {
  readonly #home = mkdtempSync(join(tmpdir(), 'relay-servers-'));

  static async start(): Promise<Servers> {
    const servers = new Servers();
    await servers.#stack('up', { KAFKA_PORT: '0', KAFKA_CONTROLLER_PORT: '0', REDIS_PORT: '0' });
    return servers;
  }

  /** Where the settings of these servers stand, for `Stack.open`. */
  get envFile(): string {
    return join(this.#home, 'dev.env');
  }

  /** Starts what is not running, with its data and on its port. */
  async bringUp(): Promise<void> {
    await this.#stack('up');
  }

  kill(service: Service): void {
    process.kill(this.#pid(service), 'SIGKILL');
  }

  async end(): Promise<void> {
    await this.#stack('down');
    rmSync(this.#home, { recursive: true, force: true });
  }

  #pid(service: Service): number {
    const state = JSON.parse(readFileSync(join(this.#home, 'stack.json'), 'utf8')) as Record<Service, { pid: number }>;
    return state[service].pid;
  }

  async #stack(command: 'up' | 'down', ports: Readonly<Record<string, string>> = {}): Promise<void> {
    const { KAFKA_BROKERS: _brokers, REDIS_URL: _url, ...rest } = process.env;
    await run(process.execPath, [script, command], { env: { ...rest, ...ports, RELAY_HOME: this.#home } });
  }
}
