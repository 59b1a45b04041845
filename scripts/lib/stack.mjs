// The development stack of one home: Kafka and Redis in the background, found again by stack.json and an answer on the port.
// A service is given (its address is set in the environment), a container (unless RELAY_CONTAINERS=0), or a local process.
import { existsSync, mkdirSync, readFileSync, realpathSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readDevEnv, writeDevEnv } from './dev-env.mjs';
import { compose, findEngine, project } from './engine.mjs';
import * as kafka from './kafka.mjs';
import { withLock } from './lock.mjs';
import { need } from './packages.mjs';
import { choosePort } from './ports.mjs';
import { commandLine, end, Fault, isAlive, until } from './process.mjs';
import * as redis from './redis.mjs';
import { lastLines } from './service.mjs';

const services = [kafka, redis];
const START_MS = 90_000;
const STOP_MS = 20_000;

/** Starts the services that do not run; returns the values of dev.env and the names of the started services. */
export async function up(folder, { env = process.env, signal, publicUrl, operationsUrl } = {}) {
  const home = realHome(folder);
  return withLock(join(home, 'up.lock'), signal, async () => {
    const started = [];
    try {
      const states = [];
      for (const service of services) states.push({ service, state: await find(home, service, env) });
      const absent = states.filter(({ state }) => !state).map(({ service }) => service);
      const engine = absent.length > 0 && env.RELAY_CONTAINERS !== '0' ? await findEngine() : undefined;
      started.push(...absent.map(({ name }) => name));
      if (engine) await startContainers(home, engine, absent, env, signal);
      else {
        await need(
          absent.flatMap((service) => service.needs()),
          signal,
        );
        await allSettled(absent.map((service) => service.prepare(signal)));
        await allSettled(absent.map((service) => startProcess(home, service, env, signal)));
      }
      const values = {};
      for (const service of services) values[service.given] = env[service.given] || read(home)[service.name].address;
      return {
        values: writeDevEnv(home, { ...values, ...addresses(home, env, { publicUrl, operationsUrl }) }),
        started,
      };
    } catch (error) {
      await stop(home, started);
      throw error;
    }
  });
}

/** Ends the services of this home, or only the named ones; data stays unless it is to be deleted with the containers. */
export async function down(folder, { only, deleteData = false, signal } = {}) {
  const home = realHome(folder);
  await withLock(join(home, 'up.lock'), signal, () => stop(home, only, deleteData));
}

/** For each service its address, its kind, and whether it answers. */
export async function status(folder, env = process.env) {
  const home = realHome(folder);
  const rows = [];
  for (const service of services) {
    const state = await find(home, service, env);
    rows.push({ name: service.name, up: state !== undefined, ...(state ?? read(home)[service.name]) });
  }
  return rows;
}

async function find(home, service, env) {
  if (env[service.given]) return { how: 'given', address: env[service.given] };
  const state = read(home)[service.name];
  if (!state?.how) return undefined;
  if (state.how === 'engine') return (await service.answers(state)) ? state : undefined;
  if (!(await isOurs(home, service, state))) return undefined;
  // It may still be starting for a command that was killed; one that stays silent is frozen and holds the data folder.
  if (await until(() => !isAlive(state.pid) || service.answers(state), 15_000))
    return isAlive(state.pid) ? state : undefined;
  await end(state.pid, 1000);
  return undefined;
}

async function startProcess(home, service, env, signal) {
  const folder = join(home, service.name);
  mkdirSync(folder, { recursive: true });
  for (let attempt = 1; ; attempt += 1) {
    const chosen = {};
    const before = attempt === 1 ? read(home)[service.name] : undefined;
    for (const [key, [variable, usual]] of Object.entries(service.ports)) {
      chosen[key] = await choosePort(env, variable, before?.[key], attempt === 1 && usual);
    }
    const { hasEnded, output, ...running } = await service.launch(folder, chosen);
    const state = { how: 'process', ...running, ...chosen, address: service.address(chosen.port) };
    write(home, service, state);
    const ready = await until(() => hasEnded() || service.answers(state), START_MS, signal);
    if (ready && !hasEnded()) return;
    // Between the look at the port and the bind another process can take it.
    const again = hasEnded() && attempt < 3 && service.portIsTaken.test(output());
    if (!again)
      throw new Fault(`${service.name} does not start, see ${join(folder, 'output.log')}\n${lastLines(output())}`);
  }
}

async function startContainers(home, engine, absent, env, signal) {
  const ports = {};
  for (const service of absent) {
    const [variable, usual] = service.ports.port;
    const port = await choosePort(env, variable, read(home)[service.name]?.port, usual);
    ports[variable] = String(port);
    write(home, service, { how: 'engine', engine, port, address: service.address(port) });
  }
  await compose(engine, home, ports, signal, 'up', '-d', ...absent.map(({ name }) => name));
  await allSettled(
    absent.map(async (service) => {
      if (await until(() => service.answers(read(home)[service.name]), START_MS, signal)) return;
      throw new Fault(`${service.name} does not answer: ${engine} compose -p ${project(home)} logs ${service.name}`);
    }),
  );
}

async function stop(home, only, deleteData = false) {
  const wanted = services.filter(({ name }) => !only || only.includes(name));
  await allSettled(
    wanted.map(async (service) => {
      const { how, pid, ...state } = read(home)[service.name] ?? {};
      if (how === 'process' && (await isOurs(home, service, { pid }))) await end(pid, STOP_MS);
      if (how === 'engine') {
        const args = deleteData ? ['down', '-v'] : ['stop', service.name];
        await compose(state.engine, home, {}, undefined, ...args);
      }
      if (how) write(home, service, state); // the ports stay wished for
    }),
  );
}

const isOurs = async (home, service, { pid }) =>
  isAlive(pid) && (await commandLine(pid)).includes(join(home, service.name));

/** The addresses of the ingress and the operations app. */
function addresses(home, env, { publicUrl, operationsUrl }) {
  const kept = readDevEnv(home);
  const local = (port) => port && `http://127.0.0.1:${port}`;
  return {
    PUBLIC_URL: env.PUBLIC_URL || publicUrl || local(env.PORT) || kept.PUBLIC_URL || local(3000),
    OPERATIONS_URL:
      env.OPERATIONS_URL || operationsUrl || local(env.OPERATIONS_PORT) || kept.OPERATIONS_URL || local(3100),
  };
}

async function allSettled(tasks) {
  const failed = (await Promise.allSettled(tasks)).find((task) => task.status === 'rejected');
  if (failed) throw failed.reason;
}

function realHome(folder) {
  mkdirSync(folder, { recursive: true });
  return realpathSync(folder);
}

const stateFile = (home) => join(home, 'stack.json');
const read = (home) => (existsSync(stateFile(home)) ? JSON.parse(readFileSync(stateFile(home), 'utf8')) : {});

function write(home, service, state) {
  const text = JSON.stringify({ ...read(home), [service.name]: state }, null, 2);
  writeFileSync(`${stateFile(home)}.${process.pid}`, `${text}\n`);
  renameSync(`${stateFile(home)}.${process.pid}`, stateFile(home));
}
