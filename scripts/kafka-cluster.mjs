// node scripts/kafka-cluster.mjs up|down FOLDER: three Kafka brokers of one cluster on this machine, for the fault suite.
// `up` starts those that do not run, with their data and on their ports, and prints them as JSON.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import * as kafka from './lib/kafka.mjs';
import { need } from './lib/packages.mjs';
import { choosePort } from './lib/ports.mjs';
import { commandLine, end, Fault, isAlive, script, until } from './lib/process.mjs';
import { lastLines } from './lib/service.mjs';

const BROKERS = 3;
const START_MS = 120_000;
const [command, given] = process.argv.slice(2);

await script(async (signal) => {
  if (!given || !['up', 'down'].includes(command)) throw new Fault('usage: kafka-cluster.mjs up|down FOLDER');
  const folder = resolve(given);
  const file = join(folder, 'cluster.json');
  const state = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : await planned();
  const folderOf = ({ node }) => join(folder, `kafka-${node}`);
  const runs = async (broker) =>
    broker.pid !== undefined && isAlive(broker.pid) && (await commandLine(broker.pid)).includes(folderOf(broker));
  const save = () => writeFileSync(file, JSON.stringify(state, undefined, 2));

  if (command === 'down') {
    for (const broker of state.brokers) if (await runs(broker)) await end(broker.pid, 1_000);
    return;
  }
  await need(kafka.needs(), signal);
  await kafka.prepare(signal);
  const started = [];
  for (const broker of state.brokers) {
    if (await runs(broker)) continue;
    mkdirSync(folderOf(broker), { recursive: true });
    const cluster = { id: state.id, node: broker.node, controllers: state.brokers.map((each) => each.controllerPort) };
    const service = await kafka.launch(folderOf(broker), { ...broker, cluster });
    broker.pid = service.pid;
    save();
    started.push({ service, broker });
  }
  for (const { service, broker } of started) {
    const ready = await until(
      () => service.hasEnded() || kafka.answers({ ...broker, clusterId: state.id }),
      START_MS,
      signal,
    );
    if (!ready || service.hasEnded()) throw new Fault(`a broker does not start:\n${lastLines(service.output())}`);
  }
  console.log(JSON.stringify(state.brokers));
});

async function planned() {
  const brokers = [];
  for (let node = 1; node <= BROKERS; node += 1) {
    const port = await choosePort({}, 'KAFKA_PORT');
    brokers.push({ node, port, controllerPort: await choosePort({}, 'KAFKA_CONTROLLER_PORT') });
  }
  return { id: kafka.newClusterId(), brokers };
}
