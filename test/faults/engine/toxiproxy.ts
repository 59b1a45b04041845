import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { freePort } from '@relay/testing';
import { toolPath } from '../../support/tool-path.js';
import { until } from '../../support/until.js';

/** A proxy of toxiproxy's, before one port on this machine. */
export class Toxiproxy {
  private constructor(
    private readonly child: ChildProcess,
    private readonly api: string,
    /** Where what is spoilt on its way is to be reached. */
    readonly port: number,
  ) {}

  static async before(upstream: number): Promise<Toxiproxy> {
    const [apiPort, port] = [await freePort(), await freePort()];
    const child = spawn(await toolPath('toxiproxy'), ['-host', '127.0.0.1', '-port', String(apiPort)], {
      stdio: 'ignore',
    });
    const proxy = new Toxiproxy(child, `http://127.0.0.1:${apiPort}`, port);
    await until('toxiproxy answers', () =>
      fetch(`${proxy.api}/version`).then(
        () => true,
        () => false,
      ),
    );
    const listen = `127.0.0.1:${port}`;
    await proxy.#ask('POST', '/proxies', { name: 'way', listen, upstream: `127.0.0.1:${upstream}`, enabled: true });
    return proxy;
  }

  /** Ends all connections and refuses new ones, or takes them again. */
  async enable(isEnabled: boolean): Promise<void> {
    await this.#ask('POST', '/proxies/way', { enabled: isEnabled });
  }

  /** Adds a toxic of toxiproxy's to what flows in one direction, under a name to take it away by. */
  async add(name: string, type: string, stream: 'upstream' | 'downstream', attributes: object): Promise<void> {
    await this.#ask('POST', '/proxies/way/toxics', { name, type, stream, attributes });
  }

  async remove(name: string): Promise<void> {
    await this.#ask('DELETE', `/proxies/way/toxics/${name}`);
  }

  async end(): Promise<void> {
    const gone = once(this.child, 'exit');
    this.child.kill('SIGKILL');
    await gone;
  }

  async #ask(method: string, path: string, body?: object): Promise<void> {
    const answer = await fetch(`${this.api}${path}`, {
      method,
      ...(body !== undefined && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
    });
    if (!answer.ok) throw new Error(`toxiproxy: ${method} ${path}: ${answer.status} ${await answer.text()}`);
  }
}
