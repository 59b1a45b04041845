// The system as its users run it: a private Kafka and Redis, the built ingress and worker, clients, webhooks, and the tools.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as kafka from '../lib/kafka.mjs';
import { appMain, node24 } from '../lib/paths.mjs';
import { choosePort } from '../lib/ports.mjs';
import { Fault, run, until } from '../lib/process.mjs';
import * as redis from '../lib/redis.mjs';
import { startRole } from '../lib/role.mjs';
import { status, up } from '../lib/stack.mjs';
import { ask } from '../lib/tcp.mjs';
import { EVENT_TYPE } from './envelopes.mjs';
import { ageOf } from './proc.mjs';

const READY_MS = 60_000;
export const BUILT_IN_TYPES = 14;
/** Event types of one request, which creates their topics before it is answered. */
const APPLIED_AT_ONCE = 20;

/** The built code of this work tree: its Node, and the main file of an app. */
const ownTree = { label: '', node: node24, mainOf: appMain };

/** Kafka and Redis of their own, empty, with the settings as shipped, and one client of each kind, made by the tree's own CLI. */
export async function startStack(home, signal, tree = ownTree) {
  const { KAFKA_BROKERS: _, REDIS_URL: __, ...outer } = process.env;
  const ports = await portsOf({ ingress: 1, worker: 1 });
  const url = `http://127.0.0.1:${ports.ingress.PORT}`;

  const watched = watchStarts(home, signal);
  const env = { ...outer, KAFKA_PORT: '0', KAFKA_CONTROLLER_PORT: '0', REDIS_PORT: '0' };
  const { values } = await up(home, { env, signal, publicUrl: url });
  const startMs = await watched;
  const pids = Object.fromEntries((await status(home, env)).flatMap(({ name, pid }) => (pid ? [[name, pid]] : [])));

  const roleEnv = { ...outer, ...values };
  const redisPort = new URL(values.REDIS_URL).port;
  return { url, ports, tree, env: roleEnv, pids, startMs, redisPort, ...(await withClients(tree, roleEnv, signal)) };
}

/** Topics and one client of each kind, made by the tree's own CLI, and how further commands are run. */
export async function withClients(tree, env, signal) {
  const cli = (...args) => run(tree.node, [tree.mainOf('cli'), ...args], { env, signal, capture: true });
  const relay = async (...args) => JSON.parse((await cli(...args, '--json')) || '{}');
  await cli('topics', 'create');
  return {
    relay,
    partner: await relay('admin', 'clients', 'create', 'partner', 'bench'),
    source: await relay('admin', 'clients', 'create', 'source', 'bench'),
  };
}

/** Applies event types until there are so many, through an operations app that ends again. */
export async function applyTypes(stack, count, signal) {
  const ports = await portsOf({ operations: 1 });
  const { clientId, clientSecret } = await stack.relay(
    ...'admin clients create operator bench --role admin'.split(' '),
  );
  const authorization = `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}`;
  const headers = { authorization, 'content-type': 'application/json' };
  const types = Array.from({ length: count - BUILT_IN_TYPES }, (_, n) => [`bench.type-${n}`, {}]);
  const roles = await startRoles({ ...stack, env: { ...stack.env, SEARCH_INDEX: 'off' }, ports }, signal);
  try {
    for (let from = 0; from < types.length; from += APPLIED_AT_ONCE) {
      const eventTypes = Object.fromEntries(types.slice(from, from + APPLIED_AT_ONCE));
      const url = `http://127.0.0.1:${ports.operations.OPERATIONS_PORT}/event-types/apply`;
      await call(url, { method: 'POST', headers, body: JSON.stringify({ eventTypes }) });
    }
  } finally {
    await roles.stop();
  }
}

/** Ports for so many of each app: `worker`, `worker 2` and so on. */
export async function portsOf(counts) {
  const variables = {
    ingress: ['PORT', 'HEALTH_PORT'],
    worker: ['HEALTH_PORT'],
    operations: ['OPERATIONS_PORT', 'HEALTH_PORT'],
  };
  const ports = {};
  for (const [app, count] of Object.entries(counts))
    for (let number = 1; number <= count; number += 1) {
      const own = (ports[number === 1 ? app : `${app} ${number}`] = {});
      for (const variable of variables[app]) own[variable] = String(await choosePort({}, variable));
    }
  return ports;
}

/** The app of a process by its name. */
export const appOf = (name) => name.split(' ', 1)[0];

/** Per store that is a process of ours: from its start to its first right answer, in ms. */
async function watchStarts(home, signal) {
  const startMs = {};
  const look = async (service) => {
    const file = join(home, 'stack.json');
    const state = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8'))[service.name] : undefined;
    if (state?.pid && (await service.answers(state))) startMs[service.name] ??= ageOf(state.pid);
    return service.name in startMs || state?.how === 'engine';
  };
  const wait = (service) => until(() => look(service), READY_MS, signal).catch(() => undefined);
  await Promise.all([kafka, redis].map(wait));
  return startMs;
}

/** The built ingress and worker, or those that have ports, started one after the other. `broken` rejects when one ends by itself. */
export async function startRoles(stack, signal, nodeFlags = () => []) {
  const lines = Object.fromEntries(Object.keys(stack.ports).map((app) => [app, []]));
  const print = (app, line) => {
    lines[app].splice(0, Math.max(0, lines[app].push(line) - 15));
    if (app in startMs && !isStopping && isWarning(line)) console.log(`${stack.tree.label}${app} | ${line}`);
  };
  const roles = [];
  const startMs = {};
  const stop = () => Promise.all(roles.map((role) => role.stop()));
  let isStopping = false;
  const failures = [];
  try {
    for (const [app, ports] of Object.entries(stack.ports)) {
      const program = { node: stack.tree.node, main: stack.tree.mainOf(appOf(app)) };
      const role = startRole(app, { ...stack.env, ...ports }, print, nodeFlags(app), program);
      roles.push(role);
      failures.push(
        role.ended.then((how) =>
          isStopping ? undefined : Promise.reject(new Fault(`${app} ended: ${how}\n${lines[app].join('\n')}`)),
        ),
      );
      startMs[app] = await Promise.race([readyAfter(app, role.pid, ports.HEALTH_PORT, signal), ...failures]);
    }
  } catch (error) {
    isStopping = true;
    await stop();
    throw error;
  }
  const broken = Promise.all(failures).then(() => new Promise(() => {}));
  broken.catch(() => undefined);
  return {
    pids: Object.fromEntries(roles.map(({ app, pid }) => [app, pid])),
    startMs,
    broken,
    stop: () => {
      isStopping = true;
      return stop();
    },
  };
}

/** Starts the roles, lets the task use them, and ends them; fails when one ends before. */
export async function withRoles({ stack, tools, signal, ends }, task, nodeFlags) {
  const roles = await startRoles(stack, signal, nodeFlags);
  const end = () => roles.stop();
  ends.push(end);
  const ofTools = Object.fromEntries(Object.entries(tools).map(([name, { pid }]) => [name, pid]));
  const pids = { ...roles.pids, ...stack.pids, ...ofTools };
  const ingresses = Object.entries(stack.ports).filter(([name]) => appOf(name) === 'ingress');
  const port = ingresses.map(([, { PORT }]) => Number(PORT));
  const target = port.length === 0 ? undefined : { port, token: await tokenOf(stack.url, stack.source) };
  const done = await Promise.race([roles.broken, task({ ...tools, tools, pids, target, stack }, roles)]);
  ends.splice(ends.indexOf(end), 1);
  await roles.stop();
  return done;
}

// pino's levels: 40 is a warning. A run with one is no run to measure by, so it is shown.
const isWarning = (line) => Number(/^\{"level":(\d+)/.exec(line)?.[1] ?? 40) >= 40;

async function readyAfter(app, pid, port, signal) {
  const isReady = async () => (await fetch(`http://127.0.0.1:${port}/health/ready`).catch(() => undefined))?.ok;
  if (await until(isReady, READY_MS, signal)) return ageOf(pid);
  throw new Fault(`${app} is not ready after ${READY_MS / 1000} s`);
}

export async function tokenOf(url, { clientId, clientSecret }) {
  const authorization = `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}`;
  return (await call(`${url}/auth/token`, { method: 'POST', headers: { authorization } })).access_token;
}

/** Requests that the ingress begins at once for one caller. */
const AT_ONCE = 8;

/** Registers a webhook for each URL; returns how to delete them again. */
export async function register({ url, partner }, endPointUrls, eventType = EVENT_TYPE) {
  const headers = { authorization: `Bearer ${await tokenOf(url, partner)}`, 'content-type': 'application/json' };
  const send = (method, body) => call(`${url}/webhooks`, { method, headers, body: JSON.stringify(body) });
  const ids = [];
  for (let from = 0; from < endPointUrls.length; from += AT_ONCE) {
    const some = endPointUrls.slice(from, from + AT_ONCE);
    const made = some.map((endPointUrl) => send('POST', { eventType, endPointUrl, apiKey: 'bench-key' }));
    ids.push(...(await Promise.all(made)).map(({ id }) => id));
  }
  return async () => {
    for (const id of ids) await send('DELETE', { eventType, id });
  };
}

async function call(url, request) {
  const answer = await fetch(url, request);
  if (!answer.ok)
    throw new Fault(`${request.method} ${new URL(url).pathname}: ${answer.status} ${await answer.text()}`);
  return answer.json();
}

/** One field of Redis' INFO. */
export async function redisInfo({ redisPort }, section, field) {
  const pattern = new RegExp(`^${field}:(\\S+)\\r$`, 'm');
  return ask(redisPort, `INFO ${section}\r\n`, (answer) => pattern.exec(answer.toString('latin1'))?.[1]);
}

/** The work of Redis since its start: commands, including those of scripts, bytes of the append-only file, and rewrites of that file. */
export async function redisWork(stack) {
  const commands = await redisInfo(stack, 'stats', 'total_commands_processed');
  const bytes = await redisInfo(stack, 'persistence', 'aof_current_size');
  const rewrites = await redisInfo(stack, 'persistence', 'aof_rewrites');
  return { commands: Number(commands), bytes: Number(bytes), rewrites: Number(rewrites) };
}

/** How many jobs BullMQ has ever taken into the queue of deliveries: its counter of the queue. */
export async function jobsAdded({ redisPort }) {
  const answer = await ask(redisPort, 'GET {relay:0}:deliveries:id\r\n', (bytes) =>
    /^(?:\$-1|\$\d+\r\n(\d+))\r\n/.exec(bytes.toString('latin1')),
  );
  if (answer === undefined) throw new Fault('Redis does not answer');
  return Number(answer[1] ?? 0);
}
