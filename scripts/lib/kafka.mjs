// A Kafka broker (KRaft, combined roles) as a local process: usually the only one, else a node of a cluster.
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { classArchive, classPath, fetchKafka, neededToFetch } from './kafka-jars.mjs';
import { clusterOf } from './kafka-probe.mjs';
import { root } from './paths.mjs';
import { choosePort } from './ports.mjs';
import { end, Fault, run, until } from './process.mjs';
import { lastLines, spawnService } from './service.mjs';

export const name = 'kafka';
export const given = 'KAFKA_BROKERS';
export const ports = { port: ['KAFKA_PORT', 9092], controllerPort: ['KAFKA_CONTROLLER_PORT', 9093] };
export const address = (port) => `127.0.0.1:${port}`;
export const portIsTaken = /BindException|Address already in use/;

/** Whether our own broker answers here, with itself registered: another cluster on the same port does not count. */
export const answers = async ({ port, clusterId }) => {
  const found = await clusterOf(port);
  return found !== undefined && (clusterId === undefined || found === clusterId);
};

export const needs = neededToFetch;
export const prepare = (signal) => fetchKafka(signal, (path, folder) => recordClasses(path, folder, signal));

/**
 * Formats the data folder on its first use and starts the broker; does not wait until it answers.
 * @param options.cluster where it is one of several: its number, the controllers of all, and the cluster's id
 * @param options.properties lines of its configuration that stand over the usual ones
 * @param options.formatted further options of the format
 * @param options.java further options of Java
 */
export async function launch(
  folder,
  { port, controllerPort, cluster = alone(controllerPort), properties = '', formatted = [], java = [] },
  jvmFlags = archiveFlags(),
) {
  const config = join(folder, 'server.properties');
  writeFileSync(config, serverProperties(port, controllerPort, cluster) + properties);
  const flags = [...(await jvmFlags), ...jvm, ...java, '-cp', classPath()];
  const meta = join(folder, 'data', 'meta.properties');
  if (!existsSync(meta)) {
    const format = [
      'kafka.tools.StorageTool',
      'format',
      '--ignore-formatted',
      '-t',
      cluster.id,
      '-c',
      config,
      ...formatted,
    ];
    await run('java', [...flags, ...format], { capture: true, cwd: folder, env: inUtf8() });
  }
  const clusterId = /^cluster\.id=(.+)$/m.exec(readFileSync(meta, 'utf8'))[1];
  return { ...spawnService('java', [...flags, 'kafka.Kafka', config], folder, inUtf8()), clusterId };
}

/** In the locale C, Java reads the names of folders as ASCII. */
const inUtf8 = () => ({ ...process.env, LC_ALL: 'C.UTF-8' });

/** Never a leading dash: StorageTool takes the id for an option then. */
export const newClusterId = () => randomBytes(16).toString('base64url').replace(/^-/, 'A');

const alone = (controllerPort) => ({ id: newClusterId(), node: 1, controllers: [controllerPort] });

// Measured on two cores with 20,000 records on a fresh broker: C1 only with the serial collector 17,800 records/s at
// 0.05 ms CPU each, the server defaults 10,700/s at 0.12 ms. C2 pays off only after some 200,000 records.
// With 256 MiB for young objects, those of a request in flight stay young. With Java's own third of 256 MiB they fell into the old
// generation, and a full collection stopped the broker for 0.1 to 0.2 s, once in 75 s at 200 records a second.
const jvm = [
  '-Xms512m',
  '-Xmx512m',
  '-Xmn256m',
  '-XX:+UseSerialGC',
  '-XX:TieredStopAtLevel=1',
  '-XX:+ExitOnOutOfMemoryError',
  '-Djava.awt.headless=true',
  `-Dlog4j2.configurationFile=${join(root, 'scripts', 'kafka', 'log4j2.xml')}`,
];
const archiveFlags = async () => [
  `-XX:SharedArchiveFile=${await classArchive()}`,
  '-Xshare:auto',
  '-Xlog:disable',
  '-Xlog:all=error:stderr',
];

// Its data is named below the folder that it runs in: Kafka reads the file as Latin-1 and parts folders at each comma.
const serverProperties = (port, controllerPort, { node, controllers }) => `process.roles=broker,controller
node.id=${node}
controller.quorum.voters=${controllers.map((voter, index) => `${index + 1}@127.0.0.1:${voter}`).join(',')}
listeners=PLAINTEXT://127.0.0.1:${port},CONTROLLER://127.0.0.1:${controllerPort}
advertised.listeners=PLAINTEXT://127.0.0.1:${port}
controller.listener.names=CONTROLLER
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
log.dirs=data
auto.create.topics.enable=false
offsets.topic.replication.factor=${controllers.length}
offsets.topic.num.partitions=10
transaction.state.log.replication.factor=${controllers.length}
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=2
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
num.network.threads=2
num.io.threads=4
background.threads=2
num.replica.fetchers=1
num.recovery.threads.per.data.dir=1
log.cleaner.threads=1
log.cleaner.dedupe.buffer.size=16777216
controller.quorum.election.timeout.ms=200
controller.quorum.election.backoff.max.ms=100
controller.quorum.fetch.timeout.ms=400
broker.session.timeout.ms=5000
broker.heartbeat.interval.ms=1000
`;

async function recordClasses(path, folder, signal) {
  const chosen = {
    port: await choosePort({}, 'KAFKA_PORT'),
    controllerPort: await choosePort({}, 'KAFKA_CONTROLLER_PORT'),
  };
  const broker = await launch(folder, chosen, [`-XX:ArchiveClassesAtExit=${path}`]);
  try {
    const ready = await until(() => broker.hasEnded() || answers({ ...broker, ...chosen }), 60_000, signal);
    if (!ready || broker.hasEnded()) throw new Fault(`Kafka does not start:\n${lastLines(broker.output())}`);
  } finally {
    await end(broker.pid, 60_000);
  }
}
