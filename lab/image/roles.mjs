// The roles in confined containers against a real Kafka and Redis: start, health, a delivery, and their end by SIGTERM.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Fault, until } from '../../scripts/lib/process.mjs';

const START_GOAL_MS = 1500;
const STARTS = 5;
const READY_MS = 60_000;
const GRACE_S = 45; // as in the chart and the compose file
const running = {};

export const roleChecks = {
  async 'topics are made'({ podman, image, ...subject }) {
    await podman.run(['--rm', ...settings(subject), image, 'relay', 'topics', 'create']);
    return 'exit 0';
  },
  ingress: (subject) => started('ingress', subject),
  worker: (subject) => started('worker', subject),
  operations: (subject) => started('operations', subject),
  async 'the HEALTHCHECK says healthy'({ podman }) {
    for (const id of Object.values(running)) await podman.call(['healthcheck', 'run', id]);
    return `${Object.keys(running).length} roles`;
  },
  async 'an envelope is delivered (smoke-test)'({ podman, image, ...subject }) {
    const url = `http://127.0.0.1:${subject.ports.http}`;
    const test = [`SMOKE_TEST_RELAY=${url}`, `SMOKE_TEST_ENDPOINT=${url}/deliveries`].map((pair) => `--env=${pair}`);
    const told = await podman.run(['--rm', ...settings(subject), ...test, image, 'smoke-test']);
    if (!told.includes('\ndelivered')) throw new Fault(told);
    return 'accepted and delivered';
  },
  async 'SIGTERM ends every role with 0'({ podman }) {
    const said = [];
    for (const [role, id] of Object.entries(running)) {
      const since = Date.now();
      await podman.call(['kill', '--signal=TERM', id]);
      const code = (await podman.call(['wait', id], { timeoutMs: GRACE_S * 1000 })).trim();
      if (code !== '0') throw new Fault(`${role}: exit code ${code}`);
      said.push(`${role} ${Date.now() - since} ms`);
    }
    return said.join(', ');
  },
};

/** Starts a role several times; the last one stays. The time is that from the start of process 1 to the first answer that it is ready. */
async function started(role, subject) {
  const starts = [];
  while (starts.length < STARTS) {
    if (running[role]) await removed(running[role], subject); // by SIGTERM, so that the next worker gets its partitions at once
    starts.push(await start(role, subject));
  }
  const [took, cpu] = ['took', 'cpu'].map((name) => starts.map((one) => one[name]).toSorted((a, b) => a - b));
  const median = (sorted) => sorted[Math.floor(STARTS / 2)];
  const goal = `goal ${START_GOAL_MS} ms${median(took) > START_GOAL_MS ? ' (missed)' : ''}`;
  return `ready in ${median(took)} ms (median of ${STARTS}, ${took[0]} to ${took.at(-1)}; ${goal}), by then ${median(cpu)} ms of CPU; read-only root, uid 65532`;
}

async function removed(id, { podman }) {
  await podman.call(['stop', `--time=${GRACE_S}`, id], { timeoutMs: GRACE_S * 1000 });
  await podman.call(['rm', id]);
}

async function start(role, { podman, image, ...subject }) {
  const port = subject.ports[role];
  const health = `http://127.0.0.1:${port}/health/ready`;
  const id = (await podman.run(['--detach', ...settings(subject), `--env=HEALTH_PORT=${port}`, image, role])).trim();
  running[role] = id;
  const isReady = await until(async () => (await fetch(health).catch(() => undefined))?.ok === true, READY_MS);
  const readyAt = Date.now();
  if (!isReady) throw new Fault(`not ready: ${(await podman.call(['logs', id])).slice(-2000)}`);
  const [{ State }] = JSON.parse(await podman.call(['inspect', id]));
  const cpu = cpuOf(State.Pid);
  const process1 = await podman.call(['exec', id, 'cat', '/proc/1/comm', '/proc/1/status']);
  if (!/^tini\n[^]*^Uid:\t65532\t65532\t65532/m.test(process1) || !/^CapEff:\t0+$/m.test(process1))
    throw new Fault(`process 1 is ${process1}`);
  return { took: readyAt - Date.parse(State.StartedAt), cpu };
}

/** Milliseconds of CPU that the process of a role has had: the child of its init. The kernel counts in hundredths of a second. */
function cpuOf(init) {
  const child = readFileSync(`/proc/${init}/task/${init}/children`, 'utf8').trim();
  const [, rest] = readFileSync(`/proc/${child}/stat`, 'utf8').split(') ');
  const fields = rest.split(' '); // the third of proc(5) first
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

/** The options with a role's settings; the file keeps the keys out of the list of processes. */
function settings({ home, values, ports }) {
  const file = join(home, 'role.env');
  const all = { ...values, PORT: ports.http, OPERATIONS_PORT: ports.dashboard };
  const lines = Object.entries({ ...all, PUBLIC_URL: `http://127.0.0.1:${ports.http}` });
  writeFileSync(file, lines.map((pair) => `${pair.join('=')}\n`).join(''), { mode: 0o600 });
  return [`--env-file=${file}`];
}
