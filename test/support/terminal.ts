import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { until } from './until.js';

const root = join(import.meta.dirname, '..', '..');

/** The address of the tests' one Redis is not that of a relay on a cluster. */
function outerOf(env: Readonly<Record<string, string>>): NodeJS.ProcessEnv {
  const { REDIS_URL: _, ...others } = process.env;
  return env['REDIS_CLUSTER_NODES'] === undefined ? process.env : others;
}

/** A program started in the repository as a reader of the documentation would; all it prints is kept. */
export class Program {
  output = '';
  readonly #child: ChildProcess;

  constructor(command: string, args: readonly string[], env: Readonly<Record<string, string>> = {}) {
    this.#child = spawn(command, args, { cwd: root, env: { ...outerOf(env), ...env }, stdio: 'pipe' });
    for (const stream of [this.#child.stdout, this.#child.stderr])
      stream?.setEncoding('utf8').on('data', (text: string) => (this.output += text));
  }

  /** A JavaScript module that may import what the repository has installed. */
  static module(code: string, env: Readonly<Record<string, string>> = {}): Program {
    return new Program(process.execPath, ['--input-type=module', '--eval', code], env);
  }

  type(text: string): void {
    this.#child.stdin?.write(text);
  }

  /** Waits until it has printed something that matches. */
  async prints(pattern: RegExp, withinMs = 120_000): Promise<RegExpMatchArray> {
    const what = `it prints ${pattern.source}`;
    return until(what, () => this.output.match(pattern) ?? undefined, { withinMs, seen: () => this.output });
  }

  /** Waits until it ends by itself; returns its exit code. */
  async ended(withinMs = 120_000): Promise<number | null> {
    const hasEnded = () => this.#child.exitCode !== null || this.#child.signalCode !== null;
    await until('it ends by itself', hasEnded, { withinMs, seen: () => this.output });
    return this.#child.exitCode;
  }

  /** Asks it to end; returns its exit code. */
  async end(signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return this.#child.exitCode;
    const gone = once(this.#child, 'close');
    this.#child.kill(signal);
    await gone;
    return this.#child.exitCode;
  }
}

/** A shell that keeps its variables from one block to the next. */
export class Terminal {
  readonly #bash: Program;
  #blocks = 0;

  constructor(env: Readonly<Record<string, string>>) {
    this.#bash = new Program('bash', ['-u', '-o', 'pipefail'], env);
  }

  /** Runs a block and returns what it printed. @throws Error when its last command failed */
  async run(code: string): Promise<string> {
    this.#blocks += 1;
    const from = this.#bash.output.length;
    this.#bash.type(`{ ${code}\n} < /dev/null; echo "<${this.#blocks} $?>"\n`);
    const [, status] = await this.#bash.prints(new RegExp(`<${this.#blocks} (\\d+)>`));
    const printed = this.#bash.output.slice(from).replace(/<\d+ \d+>\n$/, '');
    if (status !== '0') throw new Error(`the block ended with ${status}:\n${code}\n${printed}`);
    return printed;
  }

  async close(): Promise<void> {
    await this.#bash.end();
  }
}
