// The Dockerfile's stage dev in confined containers: all roles, Kafka and Redis in one, with the data in a volume.
import { chownSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { Fault, until } from '../../scripts/lib/process.mjs';

const IMAGE = 'localhost/partner-relay:test-dev';
const READY_MS = 120_000;
const SMOKE_TEST =
  'set -a; . /data/dev.env; SMOKE_TEST_RELAY=$PUBLIC_URL SMOKE_TEST_ENDPOINT=$PUBLIC_URL/deliveries exec node /app/role.mjs smoke-test';
let running;

export const buildDev = (podman, args) => podman.build([...args, '--target=dev', `--tag=${IMAGE}`]);

export const devChecks = {
  async 'dev: size unpacked'({ podman }) {
    const [{ Size }] = JSON.parse(await podman.call(['image', 'inspect', IMAGE]));
    return `${(Size / 1e6).toFixed(0)} MB`;
  },
  async 'dev: a read-only volume, and one of another user, are refused by name'(subject) {
    const folder = join(subject.home, 'of-another');
    mkdirSync(folder);
    chownSync(folder, 1000, 1000);
    await refused(subject, ['--volume=read-only:/data:ro'], /EROFS/);
    await refused(subject, [`--volume=${folder}:/data`], /user 1000 owns it, and this is user 65532/);
    await ready(subject, ['--user=1000:1000', `--volume=${folder}:/data`]);
    await stopped(subject);
    return 'and as that user it starts';
  },
  async 'dev: one container starts everything, an envelope is delivered'(subject) {
    const took = await ready(subject);
    return `ready in ${took} ms, ${await delivered(subject)}`;
  },
  async 'dev: a second container with its volume is refused'(subject) {
    await refused(subject, ['--volume=relay:/data'], /runs with the data of \/data already: http/);
    return 'exit 1';
  },
  async 'dev: after SIGKILL the data is there'(subject) {
    await subject.podman.call(['kill', '--signal=KILL', running]);
    const took = await ready(subject);
    const said = await delivered(subject);
    const told = await subject.podman.call(['exec', running, 'partner-relay', 'relay', 'partners', 'list', '--json']);
    const kept = JSON.parse(told).filter(({ name }) => name === 'smoke-test').length;
    if (kept !== 2) throw new Fault(`${kept} partners instead of 2`);
    return `ready in ${took} ms, ${said}`;
  },
  async 'dev: the HEALTHCHECK says healthy, SIGTERM ends all with 0'(subject) {
    await subject.podman.call(['healthcheck', 'run', running]);
    return stopped(subject);
  },
};

const ARGS = ({ ports }) =>
  Object.entries({
    PORT: ports.http,
    OPERATIONS_PORT: ports.dashboard,
    INGRESS_HEALTH_PORT: ports.ingress,
    HEALTH_PORT: ports.ingress,
    WORKER_HEALTH_PORT: ports.worker,
    OPERATIONS_HEALTH_PORT: ports.operations,
  }).map((pair) => `--env=${pair.join('=')}`);

async function ready(subject, more = ['--volume=relay:/data']) {
  const { podman } = subject;
  const since = Date.now();
  running = (await podman.run(['--detach', ...ARGS(subject), ...more, IMAGE, 'dev'])).trim();
  const logs = () => podman.call(['logs', running]);
  if (!(await until(async () => (await logs()).includes('Ctrl-C ends'), READY_MS))) throw new Fault(await logs());
  return Date.now() - since;
}

async function delivered({ podman }) {
  const told = await podman.call(['exec', running, 'sh', '-c', SMOKE_TEST], { timeoutMs: 90_000 });
  if (!told.includes('\ndelivered')) throw new Fault(told);
  return 'delivered';
}

async function refused({ podman, ...subject }, args, expected) {
  const said = await podman.run(['--rm', ...ARGS(subject), ...args, IMAGE, 'dev']).then(
    (output) => `exit code 0: ${output}`,
    ({ message }) => message,
  );
  if (!/exit code 1\n/.test(said) || !expected.test(said)) throw new Fault(said);
}

async function stopped({ podman }) {
  const since = Date.now();
  await podman.call(['kill', '--signal=TERM', running]);
  const code = (await podman.call(['wait', running], { timeoutMs: 60_000 })).trim();
  if (code !== '0') throw new Fault(`exit code ${code}: ${(await podman.call(['logs', running])).slice(-2000)}`);
  return `${Date.now() - since} ms`;
}
