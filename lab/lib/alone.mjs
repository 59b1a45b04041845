// Programs in Linux namespaces of their own. Root only.
import { run } from '../../scripts/lib/process.mjs';

const OWN = ['--mount', '--pid', '--fork', '--kill-child', '--mount-proc'];
// podman's locks are in /dev/shm, and another podman of this machine has its own there. The shell reaps what containers leave behind.
const SETUP = ['mount -t tmpfs none /dev/shm'];
const SETUP_WITH_NETWORK = [...SETUP, 'mount -t tmpfs none /run', 'ip link set lo up'];

/**
 * Runs a program below process 1 of its own namespaces: all that it starts and mounts ends with it, also when it or this process is
 * killed.
 * @param options.network whether it has a network of its own: the ports it takes may be in use on this machine
 * @returns the exit code, 0 or 1
 * @throws Fault for any other
 */
export async function alone(command, { network = false, signal }) {
  const own = network ? [...OWN, '--net'] : OWN;
  const first = `${(network ? SETUP_WITH_NETWORK : SETUP).join(' && ')} && "$@"; exit $?`;
  try {
    await run('setpriv', ['--pdeathsig=KILL', 'unshare', ...own, 'sh', '-c', first, 'sh', ...command], {
      signal,
      detached: true, // Ctrl-C in the terminal is for this process alone
      killSignal: 'SIGKILL', // unshare waits through any other
    });
    return 0;
  } catch (error) {
    if (signal.aborted || !/exit code 1\b/.test(error.message)) throw error;
    return 1;
  }
}
