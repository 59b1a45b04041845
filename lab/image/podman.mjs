// podman with a store, a state and temporary files of its own below one folder.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { run } from '../../scripts/lib/process.mjs';

/** As a pod of the chart runs: nothing can be written but /tmp, no right is left. */
const CONFINED = ['--read-only', '--read-only-tmpfs=false', '--cap-drop=all', '--security-opt=no-new-privileges'];

export function podman(home) {
  const folder = (name) => {
    mkdirSync(join(home, name), { recursive: true });
    return join(home, name);
  };
  const options = [
    ...['root', 'runroot', 'tmpdir'].map((name) => `--${name}=${folder(name)}`),
    // The runtime runc knows every arrangement of cgroups.
    '--runtime=runc',
    `--runtime-flag=root=${folder('runc')}`,
    '--cgroup-manager=cgroupfs',
    '--events-backend=none',
    '--storage-driver=overlay',
    `--network-config-dir=${folder('networks')}`,
  ];
  const group = `--cgroup-parent=/${basename(home)}`;
  const env = { ...process.env, TMPDIR: folder('scratch') };
  const call = (args, more) => run('podman', [...options, ...args], { capture: true, env, ...more });
  const confined = [...CONFINED, '--tmpfs=/tmp', '--network=host', group, ...limits()];
  return {
    call,
    build: (args) => call(['build', '--network=host', group, ...limits(), ...args], { timeoutMs: 900_000 }),
    /** @param args options, image and arguments of `podman run` */
    run: (args, more) => call(['run', ...confined, ...args], { timeoutMs: 120_000, ...more }),
    /** A container without the read-only root. */
    open: (args) => call(['run', '--rm', '--network=host', group, ...limits(), ...args], { timeoutMs: 120_000 }),
    /** A folder with a program podman that uses this store, for programs that call podman. */
    program() {
      const path = join(folder('bin'), 'podman');
      const each = [group, ...limits()].join(' ');
      writeFileSync(
        path,
        `#!/bin/sh
case $1 in create|run) command=$1; shift; set -- "$command" ${each} "$@";; esac
exec /usr/bin/podman ${options.join(' ')} "$@"
`,
        { mode: 0o755 },
      );
      return { folder: folder('bin'), env };
    },
  };
}

/** podman asks for more than a process without CAP_SYS_RESOURCE may have. */
function limits() {
  const table = readFileSync('/proc/self/limits', 'utf8');
  const hard = (name) => new RegExp(`^${name} +\\S+ +(\\S+)`, 'm').exec(table)[1].replace('unlimited', '-1');
  return [
    ['nofile', hard('Max open files')],
    ['nproc', hard('Max processes')],
  ].map(([name, limit]) => `--ulimit=${name}=${limit}:${limit}`);
}
