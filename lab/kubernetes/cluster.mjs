// A Kubernetes cluster of one node in namespaces of its own: with its first process everything in it ends, and what it mounted,
// routed and filtered is gone.
import { spawn } from 'node:child_process';
import { existsSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { node24, root } from '../../scripts/lib/paths.mjs';
import { Fault, run, until } from '../../scripts/lib/process.mjs';
import { tidy } from '../lib/tidy.mjs';

const START_MS = 180_000;
const NAMESPACES = ['--mount', '--net', '--pid', '--ipc', '--uts', '--fork', '--kill-child=SIGKILL', '--mount-proc'];
/** The first process of a namespace gets the children of those that ended; a shell reaps them. */
const FIRST = '"$@"; exit $?';
export const chart = join(root, 'charts', 'partner-relay');

/** @param options.programs folder with the cluster's programs; `helm` a path. Resolves when its node is ready for pods. */
export async function startCluster(home, { programs, helm, signal }) {
  const task = join(home, 'task.json');
  writeFileSync(task, JSON.stringify({ home, programs }));
  // A SIGKILL of this process ends the cluster: `unshare` gets a signal, and the tidying process the end of its input.
  const keeper = spawn(node24, [join(root, 'lab', 'lib', 'tidy.mjs'), home], {
    stdio: ['pipe', 'ignore', 'inherit'],
    detached: true,
  });
  const log = openSync(join(home, 'node.log'), 'a');
  const node = join(import.meta.dirname, 'node.mjs');
  const inNamespaces = ['unshare', ...NAMESPACES, '--propagation=private', 'sh', '-c', FIRST, 'sh', node24, node, task];
  const outer = spawn('setpriv', ['--pdeathsig=KILL', ...inNamespaces], {
    stdio: ['ignore', log, log],
    detached: true,
  });
  const ended = new Promise((done) => outer.on('exit', done));
  const stop = async () => {
    outer.kill('SIGKILL');
    await ended;
    await tidy(home);
    keeper.kill('SIGKILL');
  };
  const fault = join(home, 'fault');
  const isOver = () => outer.exitCode !== null || outer.signalCode !== null;
  try {
    await until(() => isOver() || existsSync(join(home, 'up')), START_MS, signal);
    if (!existsSync(join(home, 'up'))) throw new Fault(`the cluster does not start: ${reasonIn(fault, home)}`);
  } catch (error) {
    await stop();
    throw error;
  }
  const first = readFileSync(`/proc/${outer.pid}/task/${outer.pid}/children`, 'utf8').trim();
  const enter = ['-t', first, '-m', '-n', '-p', '-i', '-u'];
  const env = { ...process.env, PATH: `${programs}:${process.env.PATH}`, KUBECONFIG: join(home, 'conf', 'admin.conf') };
  for (const name of Object.keys(env)) if (/_proxy$/i.test(name)) delete env[name];
  /** Runs a command in the node's namespaces; resolves with its output. */
  const inside = (command, args, options) =>
    run('nsenter', [...enter, command, ...args], { capture: true, signal, env, timeoutMs: 300_000, ...options });
  const kubectl = (...args) => inside(join(programs, 'kubectl'), args);
  return {
    home,
    inside,
    /** Starts a program in the node's namespaces that goes on beside this one. */
    spawnInside: (command, args, stdio = ['pipe', 'pipe', 'inherit']) =>
      spawn('nsenter', [...enter, command, ...args], { stdio, env }),
    kubectl,
    json: async (...args) => JSON.parse(await kubectl(...args, '-o', 'json')),
    apply: async (name, manifests) => {
      const file = join(home, `${name}.json`);
      writeFileSync(file, JSON.stringify({ apiVersion: 'v1', kind: 'List', items: manifests }));
      return kubectl('apply', '-f', file);
    },
    helm: (...args) => inside(helm, args, { timeoutMs: 600_000 }),
    /** Manifests that others wrote; the server merges them, for some are larger than an annotation may be. */
    applyFiles: (files) =>
      kubectl('apply', '--server-side', '--force-conflicts', ...files.map((file) => `--filename=${file}`)),
    load: (archive) => inside('ctr', ['-n', 'k8s.io', 'images', 'import', archive], { timeoutMs: 600_000 }),
    stop,
  };
}

const reasonIn = (fault, home) =>
  existsSync(fault) ? readFileSync(fault, 'utf8') : readFileSync(join(home, 'node.log'), 'utf8').slice(-2000);
