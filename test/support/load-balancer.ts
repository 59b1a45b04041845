import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '@relay/testing';
import type { App, Role } from './app.js';
import { toolPath } from './tool-path.js';
import { until } from './until.js';

/** haproxy in front of several processes of a role: in turn to those whose `/health/ready` answers 200. */
export class LoadBalancer {
  private constructor(
    private readonly child: ChildProcess,
    private readonly folder: string,
    readonly url: string,
  ) {}

  static async before(apps: readonly App<Role>[]): Promise<LoadBalancer> {
    const folder = mkdtempSync(join(tmpdir(), 'relay-haproxy-'));
    const port = await freePort();
    const servers = apps.map(
      (app, index) => `  server i${index} 127.0.0.1:${app.port} check port ${app.healthPort} inter 500ms fall 2 rise 1`,
    );
    const lines = [
      'global',
      `  stats socket ${join(folder, 'admin')} level admin`,
      'defaults',
      '  mode http',
      '  timeout connect 2s',
      '  timeout client 30s',
      '  timeout server 30s',
      '  timeout check 3s',
      'listen relay',
      `  bind 127.0.0.1:${port}`,
      '  balance roundrobin',
      '  option httpchk GET /health/ready',
      ...servers,
    ];
    const file = join(folder, 'haproxy.cfg');
    writeFileSync(file, `${lines.join('\n')}\n`);
    const child = spawn(await toolPath('haproxy'), ['-db', '-f', file], { stdio: 'ignore' });
    const balancer = new LoadBalancer(child, folder, `http://127.0.0.1:${port}`);
    await until('haproxy serves', async () => {
      const answer = await fetch(balancer.url, { redirect: 'manual' }).catch(() => undefined);
      return answer !== undefined && answer.status < 500; // its own while nobody is ready is a 503
    });
    return balancer;
  }

  /** What a cluster does with a pod before it tells it to end: it gets no more requests. */
  async rest(index: number): Promise<void> {
    await this.#say(`set server relay/i${index} state drain`);
  }

  async serve(index: number): Promise<void> {
    await this.#say(`set server relay/i${index} state ready`);
    await until(`haproxy sees that process ${index} is ready`, async () =>
      new RegExp(`,i${index},.*,UP,`).test(await this.#say('show stat')),
    );
  }

  async close(): Promise<void> {
    const gone = once(this.child, 'exit');
    this.child.kill('SIGKILL');
    await gone;
    rmSync(this.folder, { recursive: true, force: true });
  }

  async #say(command: string): Promise<string> {
    const socket = connect(join(this.folder, 'admin'));
    socket.end(`${command}\n`);
    let answer = '';
    for await (const part of socket.setEncoding('utf8')) answer += String(part);
    return answer;
  }
}
