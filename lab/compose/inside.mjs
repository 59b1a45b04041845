// The part of npm run test:compose that runs in namespaces of its own. Exit code 1 when a step fails.
import { readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { checked } from '../lib/checks.mjs';
import { root } from '../../scripts/lib/paths.mjs';
import { Fault, run, script, until } from '../../scripts/lib/process.mjs';
import { podman as podmanIn } from '../image/podman.mjs';
import { tryIt } from './first-webhook.mjs';

const RELAY = 'http://127.0.0.1:3000';
const UP_MS = 240_000;
const { home, images, compose: composeFolder } = JSON.parse(readFileSync(process.argv[2], 'utf8'));
const podman = podmanIn(home);
const { folder: podmanFolder, env: podmanEnv } = podman.program();
const env = {
  ...podmanEnv,
  PATH: [podmanFolder, composeFolder, process.env.PATH].join(delimiter),
};
const fullName = (name) => (name.includes('/') ? `docker.io/${name}` : `docker.io/library/${name}`);
const seconds = (since) => Math.round((Date.now() - since) / 1000);
const NODES = [1, 2, 3, 4, 5, 6].map((number) => `redis-${number}`);
const profiles = ['--profile', 'demo'];
const compose = (...args) =>
  run('podman-compose', ['--file', join(root, 'docker-compose.yml'), '--no-ansi', ...profiles, ...args], {
    capture: true,
    env,
    timeoutMs: UP_MS,
  });
const relay = async (...args) => JSON.parse(await compose('exec', '-T', 'ingress', 'relay', ...args, '--json'));
const inspect = async (name, format) => (await podman.call(['inspect', `--format=${format}`, name])).trim();
const kept = {};

const steps = {
  async 'images under the names of docker-compose.yml'() {
    const text = readFileSync(join(root, 'docker-compose.yml'), 'utf8');
    const named = (image) => new RegExp(`image: (${image}:\\S+)`).exec(text)[1];
    const names = { kafka: named('apache/kafka'), valkey: named('redis'), 'partner-relay': 'partner-relay:0.1.0' };
    for (const [name, { archive, reference }] of Object.entries(images)) {
      await podman.call(['load', '--quiet', '--input', archive]);
      await podman.call(['tag', reference, fullName(names[name])]);
    }
    return `${Object.values(names).join(', ')}; those of Kafka and Redis are STAND-INS of Debian's packages`;
  },
  'up, every service healthy': () => up(),
  async 'the commands of docs/integrate'() {
    kept.partner = await relay('admin', 'clients', 'create', 'partner', 'demo');
    kept.source = await relay('admin', 'clients', 'create', 'source', 'demo');
    const endpoint = (await compose('exec', '-T', 'demo-endpoint', 'hostname', '-i')).trim().split(' ')[0];
    kept.lines = tryIt({ relay: RELAY, endpoint: `http://${endpoint}:3300`, ...kept });
    const [registered, sent] = await kept.lines.all(env);
    if (!/whsec_/.test(registered)) throw new Fault(`no signing secret: ${registered}`);
    if (JSON.parse(sent).status !== 'accepted') throw new Fault(sent);
    kept.id = JSON.parse(sent).id;
    const arrived = async () => (await compose('logs', 'demo-endpoint')).includes(`webhook-id: ${kept.id}`);
    if (!(await until(arrived, 30_000))) throw new Fault('the envelope did not arrive at demo-endpoint');
    return 'partner and source created, webhook registered, envelope accepted and delivered';
  },
  async 'the portal and the operators’ console'() {
    for (const url of [`${RELAY}/portal`, 'http://127.0.0.1:3100/']) {
      const answer = await fetch(url, { redirect: 'follow' });
      const type = answer.headers.get('content-type') ?? '';
      if (!answer.ok || !type.startsWith('text/html')) throw new Fault(`${url}: ${answer.status} ${type}`);
    }
    return 'both are served';
  },
  async 'a killed worker comes back'() {
    const name = await containerOf('worker');
    const before = await inspect(name, '{{.State.Pid}}');
    process.kill(Number(before), 'SIGKILL');
    const isBack = async () => ![before, '0'].includes(await inspect(name, '{{.State.Pid}}'));
    if (!(await until(isBack, 60_000))) throw new Fault('restart: unless-stopped did not start it again');
    return 'by restart: unless-stopped';
  },
  async 'down ends every container'() {
    const since = Date.now();
    await compose('down');
    const left = (await podman.call(['ps', '--all', '--format={{.Names}}'])).trim();
    if (left !== '') throw new Fault(`left: ${left}`);
    return `${seconds(since)} s`;
  },
  'up again': () => up(),
  async 'the data is kept'() {
    const again = JSON.parse(await kept.lines.send(env));
    if (again.id !== kept.id || again.status !== 'duplicate') throw new Fault(JSON.stringify(again));
    return 'credentials, webhook and envelope: the same envelope is a duplicate';
  },
  'down -v deletes it': gone,
  async 'up with the profile cluster: three shards on six nodes'() {
    Object.assign(env, {
      RELAY_REDIS_URL: '',
      REDIS_SHARDS: '3',
      REDIS_CLUSTER_NODES: NODES.slice(0, 3).join(':6379,') + ':6379',
    });
    profiles.push('--profile', 'cluster');
    return up(NODES);
  },
  async 'its shards are on three nodes, and an envelope arrives'() {
    const [partner, source] = [
      await relay('admin', 'clients', 'create', 'partner', 'demo'),
      await relay('admin', 'clients', 'create', 'source', 'demo'),
    ];
    const endpoint = (await compose('exec', '-T', 'demo-endpoint', 'hostname', '-i')).trim().split(' ')[0];
    const lines = tryIt({ relay: RELAY, endpoint: `http://${endpoint}:3300`, partner, source });
    const [, sent] = await lines.all(env);
    const { id } = JSON.parse(sent);
    const arrived = async () => (await compose('logs', 'demo-endpoint')).includes(`webhook-id: ${id}`);
    if (!(await until(arrived, 30_000))) throw new Fault('the envelope did not arrive at demo-endpoint');
    const { findings } = await relay('doctor').catch(({ output }) => JSON.parse(/^\{.*\}$/m.exec(output)[0]));
    const wrong = findings.filter(
      ({ check, state }) => /^(?:redis|cluster|shards|replicas)/.test(check) && state !== 'ok',
    );
    if (wrong.length > 0) throw new Fault(JSON.stringify(wrong));
    return findings.find(({ check }) => check === 'shards').text;
  },
  'down -v deletes the cluster': gone,
};

async function gone() {
  await compose('down', '--volumes');
  const left = (await podman.call(['volume', 'ls', '--format={{.Name}}'])).trim();
  if (left !== '') throw new Fault(`left: ${left}`);
  return 'no volume is left';
}

/**
 * Does the work of `depends_on`: Debian's podman runs no health check by itself without systemd, cannot be asked to wait for one,
 * and starts no container whose dependencies have dependencies of their own.
 */
async function up(nodes = []) {
  const since = Date.now();
  const start = (...services) => compose('up', '--detach', '--no-build', '--no-deps', ...services);
  const ended = async (service) => {
    await start(service);
    const code = (await podman.call(['wait', await containerOf(service)], { timeoutMs: UP_MS })).trim();
    if (code !== '0') throw new Fault(`${service} ended with ${code}`);
  };
  await start('kafka', 'redis', ...nodes);
  await healthy(['kafka', 'redis', ...nodes]);
  if (nodes.length > 0) await ended('redis-cluster');
  const stores = seconds(since);
  await ended('topics');
  await ended('keys');
  await start('ingress', 'worker', 'operations', 'demo-endpoint');
  await healthy(['ingress', 'worker', 'operations']);
  return `stores after ${stores} s, all after ${seconds(since)} s`;
}

async function healthy(services) {
  for (const service of services) {
    const name = await containerOf(service);
    const isHealthy = () =>
      podman.call(['healthcheck', 'run', name]).then(
        () => true,
        () => delay(500, false),
      );
    if (!(await until(isHealthy, UP_MS))) throw new Fault(`${service} is not healthy`);
  }
}

async function containerOf(service) {
  const filter = `--filter=label=com.docker.compose.service=${service}`;
  return (await podman.call(['ps', '--all', '--format={{.Names}}', filter])).trim();
}

await script(async () => {
  console.log(`${(await podman.call(['--version'])).trim()}, ${(await compose('version', '--short')).trim()}`);
  return await checked(steps, async () => {
    console.log((await compose('logs').catch(({ message }) => message)).slice(-4000));
    return true;
  });
});
