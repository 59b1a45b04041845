import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { freePort } from '@relay/testing';
import type { MemoryLimit } from './memory-limit.js';
import type { Settings } from './stack.js';
import { until } from './until.js';

export type Role = 'ingress' | 'worker' | 'operations';

/** The built app of `nest build`, here or in the copy of the sources that `RELAY_DIST` names. */
export const mainOf = (app: Role | 'cli'): string =>
  join(process.env['RELAY_DIST'] ?? join(import.meta.dirname, '..', '..', 'dist'), 'apps', app, 'src', 'main.js');

/** Options of a start of a process, besides its settings. */
export interface Start {
  readonly env?: Settings;
  /** Options of Node, before the program. */
  readonly nodeOptions?: readonly string[];
  /** Its memory limit. Node sizes its heap by it. */
  readonly limit?: MemoryLimit | undefined;
}

/** A built app as a process of its own. It keeps its ports and its log over restarts. */
export class App<R extends Role = 'ingress' | 'worker'> {
  readonly #lines: string[] = [];
  /** Milliseconds of `performance.now()` at which each line of the log came. */
  readonly loggedAt: number[] = [];
  #child: ChildProcess | undefined;
  #isToldToEnd = false;
  /** Milliseconds of `performance.now()` when it last ended. */
  endedAt = 0;

  private constructor(
    readonly role: R,
    private readonly env: Settings,
    readonly port: number,
    readonly healthPort: number,
    private readonly usual: Start,
  ) {}

  /** Starts it without waiting until it is ready. */
  static async launch<R extends Role>(role: R, env: Settings, usual: Start = {}): Promise<App<R>> {
    const app = new App(role, env, await freePort(), await freePort(), usual);
    app.start();
    return app;
  }

  /** Starts it; resolves when it is ready. */
  static async start<R extends Role>(role: R, env: Settings, usual: Start = {}): Promise<App<R>> {
    const app = await App.launch(role, env, usual);
    try {
      await app.ready();
      return app;
    } catch (error) {
      await app.kill();
      throw error;
    }
  }

  /** Where partners and sources reach an ingress, and operators the operations app. */
  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  get pid(): number {
    return this.#child?.pid ?? 0;
  }

  /** All lines it has logged, of every start. */
  get log(): readonly string[] {
    return this.#lines;
  }

  get isRunning(): boolean {
    return this.#child !== undefined && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** It ended by itself with an exit code. */
  get hasEndedByItself(): boolean {
    return this.#child !== undefined && this.#child.exitCode !== null && !this.#isToldToEnd;
  }

  /** @param start stands over what it is usually started with */
  start(start: Start = {}): void {
    const { env: own, nodeOptions = [], limit } = { ...this.usual, ...start };
    // The issuer stays that of the settings: a token outlives a change of port.
    const ports = { PORT: this.port, OPERATIONS_PORT: this.port, HEALTH_PORT: this.healthPort };
    const shown = Object.entries(ports).map(([name, port]) => [name, String(port)]);
    const env: Settings = { ...this.env, ...own, ...Object.fromEntries(shown) };
    const line = [process.execPath, ...nodeOptions, mainOf(this.role)];
    const [command = '', ...args] = limit?.around(line) ?? line;
    const child = spawn(command, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
    this.#child = child;
    this.#isToldToEnd = false;
    child.once('exit', () => (this.endedAt = performance.now()));
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', this.#heard);
  }

  readonly #heard = (text: string): void => {
    for (const line of text.trimEnd().split('\n')) {
      this.#lines.push(line);
      this.loggedAt.push(performance.now());
    }
  };

  /** The answer of `/health/ready`; undefined without one. */
  async health(): Promise<{ status: string; faults: Record<string, string> } | undefined> {
    try {
      const answer = await fetch(`http://127.0.0.1:${this.healthPort}/health/ready`);
      return (await answer.json()) as { status: string; faults: Record<string, string> };
    } catch {
      return undefined;
    }
  }

  async ready(withinMs = 90_000): Promise<void> {
    const seen = async () => ({ health: await this.health(), log: this.#lines.slice(-20) });
    await until(
      `the ${this.role} is ready`,
      async () => {
        if (!this.isRunning) throw new Error(`the ${this.role} ended:\n${this.#lines.slice(-20).join('\n')}`);
        return (await this.health())?.status === 'ok';
      },
      { withinMs, seen },
    );
  }

  /** Metrics in Prometheus' text form. */
  async metrics(): Promise<string> {
    return (await fetch(`http://127.0.0.1:${this.healthPort}/metrics`)).text();
  }

  /** Closes its output, as when what collects its log has died. */
  hangUp(): void {
    this.#child?.stdout?.destroy();
    this.#child?.stderr?.destroy();
  }

  /** Asks it to end; returns its exit code. */
  async stop(): Promise<number | null> {
    return this.#end('SIGTERM');
  }

  async kill(): Promise<void> {
    await this.#end('SIGKILL');
  }

  async #end(signal: NodeJS.Signals): Promise<number | null> {
    const child = this.#child;
    if (child === undefined || !this.isRunning) return child?.exitCode ?? null;
    const gone = once(child, 'exit');
    this.#isToldToEnd = true;
    child.kill(signal);
    await gone;
    return child.exitCode;
  }
}
