// npm start: from a fresh clone to a running relay in development settings; Ctrl-C ends all that it started and keeps the data.
// Arguments are those of `relay registry move`, for a Redis that is kept beside a new Kafka.
import { join } from 'node:path';
import { once } from 'node:events';
import { demoClients, demoLines, portalLink } from './lib/demo.mjs';
import { own } from './lib/owner.mjs';
import { appMain, home, isClone, node24 } from './lib/paths.mjs';
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
const print = (name, line) => console.log(`${name.padEnd(10)} | ${line}`);

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

    console.log('starting Kafka and Redis');
    const operationsUrl = `http://127.0.0.1:${roles.operations.OPERATIONS_PORT}`;
    const stack = await up(home, { signal, publicUrl: url, operationsUrl });
    ends.push(() => down(home, { only: isClone ? stack.started : undefined })); // without a clone, nothing else could end them;
    // The index stays with the other data, so that a start finds it.
    const env = { SEARCH_INDEX: join(home, 'search.sqlite'), PORTAL_LINK_TTL: '1h', ...stack.values, ...process.env };
    const relay = (...args) => run(node24, [appMain('cli'), ...args], { env, signal, capture: true });
    await relay('topics', 'create');
    const move = process.argv.slice(2);
    if (move.length > 0) console.log((await relay('registry', 'move', ...move)).trim());

    const receiver = await startReceiver(receiverPort, (line) => print('receiver', line));
    ends.push(() => receiver.close());
    const running = Object.entries(roles).map(([app, ports]) => startRole(app, { ...env, ...ports }, print));
    ends.push(() => Promise.all(running.map(({ stop }) => stop())));
    owner.tell(
      url,
      running.map(({ pid }) => pid),
    );
    const broken = Promise.race(
      running.map(async ({ app, ended }) => Promise.reject(new Fault(`${app} ended unexpectedly: ${await ended}`))),
    );

    await Promise.race([broken, ready(roles, signal)]);
    const clients = await demoClients(home, url, relay);
    const portal = await portalLink(url, clients.partner);
    const topic = `${env.KAFKA_TOPIC_PREFIX ?? ''}task.created`;
    const demo = {
      url,
      receiver: `http://127.0.0.1:${receiverPort}`,
      brokers: env.KAFKA_BROKERS,
      topic,
      clients,
      portal,
    };
    console.log(
      `\n${addresses(roles, env, demo)}\n\n${demoLines(demo)}\n\nCtrl-C ends it; the data stays in ${home}\n`,
    );
    signal.throwIfAborted();
    await Promise.race([broken, once(signal, 'abort')]);
  } finally {
    if (ends.length > 1) console.log('stopping');
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
            `Redis was kept from another Kafka cluster than the one that runs here. To use it with this one:\n  npm start -- --from-cluster ${cluster}`,
          );
        return answer?.status === 200;
      };
      if (!(await until(isReady, READY_MS, signal)))
        throw new Fault(`${app} is not ready after ${READY_MS / 1000} s: ${said}`);
    }),
  );
}

function addresses(roles, env, { url, receiver, portal, clients: { partner, source, operator } }) {
  const health = Object.entries(roles).map(
    ([app, { HEALTH_PORT }]) => `${app} http://127.0.0.1:${HEALTH_PORT}/health/ready`,
  );
  const rows = {
    relay: url,
    portal: `${portal}  (once, within an hour)`,
    ...(roles.operations && { operations: `http://127.0.0.1:${roles.operations.OPERATIONS_PORT}` }),
    health: health.join('  '),
    receiver,
    Kafka: env.KAFKA_BROKERS,
    Redis: env.REDIS_URL?.replace(/\/\/.*@/, '//'),
    partner: `${partner.clientId}  ${partner.clientSecret}`,
    source: `${source.clientId}  ${source.clientSecret}`,
    operator: `${operator.clientId}  ${operator.clientSecret}`,
  };
  return Object.entries(rows)
    .map(([name, value]) => `${name.padEnd(10)}  ${value}`)
    .join('\n');
}

await script(start, { interrupted: 0 });
