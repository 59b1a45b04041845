// node scripts/kafka-secured.mjs up|down FOLDER: a Kafka broker with TLS, SCRAM and an authorizer, for the tests. FOLDER holds
// server.pem (key and certificate) and users.json, an object of passwords by user; `up` prints its ports as JSON. On `port` anybody
// may do all, on `securedPort` a user what it was granted.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import * as kafka from './lib/kafka.mjs';
import { need } from './lib/packages.mjs';
import { choosePort } from './lib/ports.mjs';
import { commandLine, end, Fault, isAlive, script, until } from './lib/process.mjs';
import { lastLines } from './lib/service.mjs';

const START_MS = 120_000;
const [command, given] = process.argv.slice(2);

await script(async (signal) => {
  if (!given || !['up', 'down'].includes(command)) throw new Fault('usage: kafka-secured.mjs up|down FOLDER');
  const folder = resolve(given);
  const file = join(folder, 'broker.json');
  if (command === 'down') {
    const { pid } = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {};
    if (pid && isAlive(pid) && (await commandLine(pid)).includes(folder)) await end(pid, 1_000);
    return;
  }
  await need(kafka.needs(), signal);
  await kafka.prepare(signal);
  const users = Object.entries(JSON.parse(readFileSync(join(folder, 'users.json'), 'utf8')));
  const [port, controllerPort, securedPort] = [
    await choosePort({}, 'KAFKA_PORT'),
    await choosePort({}, 'KAFKA_CONTROLLER_PORT'),
    await choosePort({}, 'KAFKA_PORT'),
  ];
  const formatted = users.flatMap(([name, password]) => [
    '--add-scram',
    `SCRAM-SHA-512=[name=${name},password=${password}]`,
  ]);
  const properties = securedProperties(folder, port, controllerPort, securedPort);
  const broker = await kafka.launch(folder, { port, controllerPort, properties, formatted });
  writeFileSync(file, JSON.stringify({ pid: broker.pid, port, securedPort }));
  const ready = await until(() => broker.hasEnded() || kafka.answers({ ...broker, port }), START_MS, signal);
  if (!ready || broker.hasEnded()) throw new Fault(`the broker does not start:\n${lastLines(broker.output())}`);
  console.log(readFileSync(file, 'utf8'));
});

function securedProperties(folder, port, controllerPort, securedPort) {
  return `listeners=PLAINTEXT://127.0.0.1:${port},SECURED://127.0.0.1:${securedPort},CONTROLLER://127.0.0.1:${controllerPort}
advertised.listeners=PLAINTEXT://127.0.0.1:${port},SECURED://127.0.0.1:${securedPort}
inter.broker.listener.name=PLAINTEXT
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,SECURED:SASL_SSL,CONTROLLER:PLAINTEXT
listener.name.secured.sasl.enabled.mechanisms=SCRAM-SHA-512
listener.name.secured.scram-sha-512.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required;
listener.name.secured.ssl.keystore.type=PEM
listener.name.secured.ssl.keystore.location=${join(folder, 'server.pem')}
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:ANONYMOUS
`;
}
