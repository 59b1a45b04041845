import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mainOf } from './app.js';
import type { Settings } from './stack.js';

export interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
  readonly tookMs: number;
}

/** The built `relay` as people and programs call it. */
export class CommandLine {
  constructor(private readonly env: Settings) {}

  /** Runs one command line to its end; `settings` stand over its own, `input` is what it reads. */
  async run(args: readonly string[], settings: Settings = {}, input = ''): Promise<Ended> {
    const startedAt = performance.now();
    const child = spawn(process.execPath, [mainOf('cli'), ...args], {
      env: { ...(settings['REDIS_URL'] === undefined ? this.env : withoutCluster(this.env)), ...settings },
      stdio: 'pipe',
    });
    child.stdin.on('error', () => undefined).end(input);
    let [out, err] = ['', ''];
    child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text));
    const [code] = (await once(child, 'close')) as [number | null];
    return { code, out, err, tookMs: performance.now() - startedAt };
  }

  /** The output of a command with `--json`. @throws Error unless it ends well and prints nothing else */
  async json<T>(args: readonly string[], settings: Settings = {}): Promise<T> {
    const { code, out, err } = await this.run([...args, '--json'], settings);
    // A long command reports its progress, and an index of attempts that is not built yet is named.
    const said = err.replaceAll(/^(?:reading .* records|Without what is away: index\.)$\n?/gm, '');
    if (code !== 0 || said !== '') throw new Error(`relay ${args.join(' ')} ended with ${code}: ${err}${out}`);
    return JSON.parse(out) as T;
  }
}

/** Another address of Redis stands for all of it. */
const withoutCluster = ({ REDIS_CLUSTER_NODES: _nodes, REDIS_PASSWORD: _password, ...others }: Settings): Settings =>
  others;
