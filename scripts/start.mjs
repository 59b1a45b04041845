// npm start: from a fresh clone to a running relay in development settings; Ctrl-C ends all that it started and keeps the data.
// `-- portal` and `-- console` print a new link to the relay that runs here. With `-- --json` the last line of the standard output
// is a JSON document for scripts. Other arguments are those of `relay registry move`, for a Redis that is kept beside a new Kafka.
import { join } from 'node:path';
import { once } from 'node:events';
import { consoleLink, demoClients, demoFile, demoLines, demoOf, portalLink } from './lib/demo.mjs';
import { readEnv, writeEnv } from './lib/dev-env.mjs';
import { own } from './lib/owner.mjs';
import { appMain, home, isClone, node24, typed } from './lib/paths.mjs';
import { choosePort } from './lib/ports.mjs';
import { Fault, run, script, until } from './lib/process.mjs';
import { startRole } from './lib/role.mjs';
import { down, up } from './lib/stack.mjs';
import { startReceiver } from './receiver.mjs';

const READY_MS = 60_000;

// Per role: the variable it reads, the variable that sets it here, the usual port.
const portsOf = {
  ingress: [
    ['PORT', 'PORT', 3000],
    ['HEALTH_PORT', 'INGRESS_HEALTH_PORT', 3001],
  ],
  worker: [['HEALTH_PORT', 'WORKER_HEALTH_PORT', 3200]],
  operations: [
    ['OPERATIONS_PORT', 'OPERATIONS_PORT', 3100],
    ['HEALTH_PORT', 'OPERATIONS_HEALTH_PORT', 3101],
  ],
};
const isJson = process.argv.includes('--json');
const args = process.argv.slice(2).filter((arg) => arg !== '--json');
const say = isJson ? console.error : console.log;
const print = (name, line) => say(`${name.padEnd(10)} | ${line}`);

/** Lines that say nothing here: npm start itself opens the egress, and Kafka needs a moment for a new topic or group. */
const USUAL =
  /"event":"egress\.opened"|does not host this topic-partition|no leader for this topic|coordinator is (?:not available|loading)|group is rebalancing/;
/** Lines of roles that are not ready yet, of which warnings are printed later, and all if the start fails; then undefined. */
let early = [];
let least = 0; // level of the lines that are printed

function hear(app, text) {
  if (USUAL.test(text)) return;
  const line = wordsOf(text);
  if (early !== undefined) early.push({ app, ...line });
  else if (line.level >= least) print(app, line.words);
}

function tellEarly(isWanted) {
  for (const line of early?.filter(isWanted) ?? []) print(line.app, line.words);
  early = undefined;
}

/** A line of a role's log in words: the time, the message and the first facts. Other lines stay as they are. */
function wordsOf(text) {
  if (!/^\{.*"event":/.test(text)) return { words: text, level: 40 };
  const { level, time, event: _event, msg, service: _, pid: __, stack: ___, ...facts } = JSON.parse(text);
  const kind = level >= 50 ? 'error: ' : level >= 40 ? 'warning: ' : '';
  const shown = Object.entries(facts)
    .slice(0, 4)
    .map(([name, value]) => `${name}=${String(value).slice(0, 300)}`);
  const at = new Date(time ?? Date.now()).toTimeString().slice(0, 8);
  return { words: `${at} ${kind}${msg}${shown.length > 0 ? ` (${shown.join(', ')})` : ''}`, level };
}

async function start(signal) {
  const ends = []; // cleanup, the latest first
  try {
    const owner = await own(home, signal);
    ends.push(() => owner.leave());
    if (isClone) await (await import('./lib/build.mjs')).build(signal);
    const roles = {};
    for (const app of Object.keys(portsOf)) {
      roles[app] = {};
      for (const [variable, setting, usual] of portsOf[app])
        roles[app][variable] = String(await choosePort(process.env, setting, usual));
    }
    const receiverPort = await choosePort(process.env, 'RECEIVER_PORT', 3300);
    const url = `http://127.0.0.1:${roles.ingress.PORT}`;
    owner.tell(url);

    say('Starting Kafka, Redis and the relay');
    const operationsUrl = `http://127.0.0.1:${roles.operations.OPERATIONS_PORT}`;
    const stack = await up(home, { signal, publicUrl: url, operationsUrl });
    // Without a clone, nothing else could end the stores.
    ends.push(() => down(home, { only: isClone ? stack.started : undefined }));
    const { RELAY_ENV, NODE_ENV } = process.env;
    const env = {
      SEARCH_INDEX: join(home, 'search.sqlite'), // it stays with the other data, so that a start finds it
      PORTAL_LINK_TTL: '1h',
      CONSOLE_LINKS: String((RELAY_ENV || 'development') === 'development' && NODE_ENV !== 'production'),
      ...stack.values,
      // An empty variable counts as not set.
      ...Object.fromEntries(Object.entries(process.env).filter(([, value]) => value !== '')),
    };
    const relay = (...line) => run(node24, [appMain('cli'), ...line], { env, signal, capture: true });
    await relay('topics', 'create');
    if (args.length > 0) say((await relay('registry', 'move', ...args)).trim());

    const receiver = await startReceiver(receiverPort, (line) => print('receiver', line));
    ends.push(() => receiver.close());
    const running = Object.entries(roles).map(([app, ports]) => startRole(app, { ...env, ...ports }, hear));
    ends.push(() => Promise.all(running.map(({ stop }) => stop())));
    owner.tell(
      url,
      running.map(({ pid }) => pid),
    );
    const broken = Promise.race(
      running.map(async ({ app, ended }) => Promise.reject(new Fault(`${app} ended unexpectedly: ${await ended}`))),
    );

    await Promise.race([broken, ready(roles, signal)]);
    tellEarly(({ level }) => level >= 40);
    const clients = await demoClients(home, url, relay);
    const receiverUrl = `http://127.0.0.1:${receiverPort}`;
    const file = demoFile(home);
    writeEnv(file, { ...readEnv(file), RELAY: url, OPERATIONS: operationsUrl, RECEIVER: receiverUrl });
    const demo = {
      relay: url,
      operations: operationsUrl,
      docs: `${url}/docs`,
      portal: await portalLink(url, clients.partner),
      console: env.CONSOLE_LINKS === 'true' ? await consoleLink(operationsUrl, clients.operator) : `${operationsUrl}/`,
      health: Object.fromEntries(
        Object.entries(roles).map(([app, { HEALTH_PORT }]) => [app, `http://127.0.0.1:${HEALTH_PORT}/health/ready`]),
      ),
      receiver: receiverUrl,
      kafka: env.KAFKA_BROKERS,
      redis: env.REDIS_URL?.replace(/\/\/.*@/, '//'),
      topic: `${env.KAFKA_TOPIC_PREFIX ?? ''}task.created`,
      ...clients,
      credentials: file,
      home,
    };
    console.log(isJson ? JSON.stringify({ ...demo, commands: demoLines(demo) }) : linesOf(demo));
    signal.throwIfAborted();
    await Promise.race([broken, once(signal, 'abort')]);
  } finally {
    tellEarly(() => !signal.aborted);
    least = 40;
    if (ends.length > 1) say('Stopping');
    for (const end of ends.toReversed()) await end();
  }
}

/** Resolves when every role reports that it is ready; otherwise names the role with its answer. */
function ready(roles, signal) {
  return Promise.all(
    Object.entries(roles).map(async ([app, { HEALTH_PORT }]) => {
      let said = 'no answer';
      const isReady = async () => {
        const answer = await fetch(`http://127.0.0.1:${HEALTH_PORT}/health/ready`, {
          signal: AbortSignal.timeout(2000),
        }).catch(() => undefined);
        said = answer ? `${answer.status} ${await answer.text()}` : 'no answer';
        const [, cluster] = /registry move --from-cluster ([\w.-]+)/.exec(said) ?? [];
        if (cluster)
          throw new Fault(
            `Redis was kept from another Kafka cluster than the one that runs here. To use it with this one:\n  ${typed('dev')} --from-cluster ${cluster}`,
          );
        return answer?.status === 200;
      };
      if (!(await until(isReady, READY_MS, signal)))
        throw new Fault(`${app} is not ready after ${READY_MS / 1000} s: ${said}`);
    }),
  );
}

/** Four lines to go on with, and where the rest is. */
const linesOf = ({ portal, console: page, docs, credentials }) => `
  Portal    ${portal}
  Console   ${page}
  Docs      ${docs}
  Send one  ${typed('demo')}

Links open once; ${typed('portal')}, or console, prints a new one. Credentials: ${credentials}
Ctrl-C ends the relay, and its data stays.`;

/** Prints a new link to the portal or the console of the relay that runs here. */
async function freshLink() {
  const { relay, operations, partner, operator } = await demoOf(home);
  console.log(await (args[0] === 'portal' ? portalLink(relay, partner) : consoleLink(operations, operator)));
}

await script(/^(?:portal|console)$/.test(args[0]) ? freshLink : start, { interrupted: 0 });
