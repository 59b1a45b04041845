// Exit codes of every program of the image, and the help of every command.
import { Fault } from '../../scripts/lib/process.mjs';

const ROLES = ['ingress', 'worker', 'operations'];
const NEEDED = ['KAFKA_BROKERS', 'REDIS_URL', 'ENCRYPTION_KEYS'];

export const programChecks = {
  async 'without settings each role ends with 1 and names them'({ podman, image }) {
    for (const role of ROLES) {
      const { code, output } = await ended(podman.run(['--rm', image, role]));
      const unnamed = NEEDED.filter((name) => !output.includes(name));
      if (code !== 1 || unnamed.length > 0) throw new Fault(`${role}: code ${code}, unnamed ${unnamed}\n${output}`);
    }
    return `${ROLES.length} roles, each names ${NEEDED.join(', ')}`;
  },
  async 'an unknown role ends with 2'({ podman, image }) {
    const { code, output } = await ended(podman.run(['--rm', image, 'nobody']));
    if (code !== 2 || !output.includes('ingress, worker, operations')) throw new Fault(`code ${code}: ${output}`);
    return 'names the roles there are';
  },
  async 'every command of relay prints its help'({ podman, image }) {
    const id = (await podman.run(['--detach', '--entrypoint=/usr/bin/tini', image, '--', 'sleep', '600'])).trim();
    try {
      const relay = (...args) => podman.call(['exec', id, 'relay', ...args], { timeoutMs: 60_000 });
      const version = (await relay('--version')).trim();
      const visit = async (path) => {
        const help = await relay(...path, '--help');
        if (!help.startsWith('Usage: relay')) throw new Fault(`${path.join(' ')}: ${help}`);
        const below = [];
        for (const name of commandsIn(help)) below.push(...(await visit([...path, name])));
        return [path.join(' '), ...below];
      };
      const seen = await visit([]);
      if (seen.length < 20) throw new Fault(`only ${seen.join(', ')}`);
      return `relay ${version}, ${seen.length} helps`;
    } finally {
      await podman.call(['rm', '--force', '--time=0', id]);
    }
  },
};

/** The names below "Commands:" in commander's help; an entry has two spaces before it, its further lines have more. */
function commandsIn(help) {
  const [, listed = ''] = help.split('\nCommands:\n');
  return [...listed.matchAll(/^ {2}([a-z][\w-]*)/gm)].map(([, name]) => name).filter((name) => name !== 'help');
}

const ended = (running) =>
  running.then(
    (output) => ({ code: 0, output }),
    (error) => ({ code: Number(/exit code (\d+)/.exec(error.message)?.[1]), output: error.output ?? error.message }),
  );
