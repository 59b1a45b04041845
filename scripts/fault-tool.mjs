// node scripts/fault-tool.mjs toxiproxy|faketime|haproxy: prints the path of a tool of the tests, installed if it is missing.
import { existsSync, mkdirSync, readdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { withLock } from './lib/lock.mjs';
import { need } from './lib/packages.mjs';
import { cache } from './lib/paths.mjs';
import { Fault, run, script } from './lib/process.mjs';

const TOXIPROXY = '2.5.0';

const tools = {
  /** Built once per machine from its Go module. */
  async toxiproxy(signal) {
    const program = join(cache, `toxiproxy-${TOXIPROXY}`);
    if (existsSync(program)) return program;
    await need(['go'], signal);
    await withLock(join(cache, 'toxiproxy.lock'), signal, async () => {
      if (existsSync(program)) return;
      const folder = join(cache, 'toxiproxy-build');
      mkdirSync(folder, { recursive: true });
      const module = `github.com/Shopify/toxiproxy/v2/cmd/server@v${TOXIPROXY}`;
      await run('go', ['install', module], { signal, capture: true, env: { ...process.env, GOBIN: folder } });
      renameSync(join(folder, 'server'), program);
    });
    return program;
  },
  /** The load balancer in front of several ingresses. */
  async haproxy(signal) {
    await need(['haproxy'], signal);
    return existsSync('/usr/sbin/haproxy') ? '/usr/sbin/haproxy' : 'haproxy';
  },
  /** The library that is preloaded so that a process sees another time. */
  async faketime(signal) {
    await need(['faketime'], signal);
    const folders = existsSync('/usr/lib')
      ? readdirSync('/usr/lib').map((name) => join('/usr/lib', name, 'faketime'))
      : [];
    const library = [...folders, '/usr/lib/faketime', '/opt/homebrew/lib/faketime']
      .map((folder) => join(folder, 'libfaketimeMT.so.1'))
      .find(existsSync);
    if (library === undefined) throw new Fault('faketime is installed, but libfaketimeMT.so.1 is nowhere to be found');
    return library;
  },
};

await script(async (signal) => {
  const tool = tools[process.argv[2]];
  if (tool === undefined) throw new Fault('usage: node scripts/fault-tool.mjs toxiproxy|faketime|haproxy');
  // Installers write to standard output, which is reserved for the path.
  const { log } = console;
  console.log = (...text) => console.error(...text);
  log(await tool(signal));
});
