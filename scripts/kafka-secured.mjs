// node scripts/kafka-secured.mjs up|down FOLDER: a Kafka broker with TLS, SCRAM, OAUTHBEARER and an authorizer, for the tests. FOLDER
// holds server.pem (key and certificate), users.json, an object of passwords by user, and jwks.json, the keys of tokens for the
// audience `kafka`; `up` prints its ports as JSON. On `port` anybody may do all, on `securedPort` and with a token on `tokenPort` a
// user what it was granted.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
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
  const ports = {};
  for (const name of ['port', 'controllerPort', 'securedPort', 'tokenPort'])
    ports[name] = await choosePort({}, 'KAFKA_PORT');
  const { port, securedPort, tokenPort } = ports;
  const formatted = users.flatMap(([name, password]) => [
    '--add-scram',
    `SCRAM-SHA-512=[name=${name},password=${password}]`,
  ]);
  const keys = pathToFileURL(join(folder, 'jwks.json')).href;
  const properties = securedProperties(folder, ports, keys);
  // Kafka reads no other address for them.
  const java = [`-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls=${keys}`];
  const broker = await kafka.launch(folder, { ...ports, properties, formatted, java });
  writeFileSync(file, JSON.stringify({ pid: broker.pid, port, securedPort, tokenPort }));
  const ready = await until(() => broker.hasEnded() || kafka.answers({ ...broker, port }), START_MS, signal);
  if (!ready || broker.hasEnded()) throw new Fault(`the broker does not start:\n${lastLines(broker.output())}`);
  console.log(readFileSync(file, 'utf8'));
});

function securedProperties(folder, { port, controllerPort, securedPort, tokenPort }, keys) {
  const doors = `PLAINTEXT://127.0.0.1:${port},SECURED://127.0.0.1:${securedPort},TOKENS://127.0.0.1:${tokenPort}`;
  const bearer = 'listener.name.tokens.oauthbearer';
  return `listeners=${doors},CONTROLLER://127.0.0.1:${controllerPort}
advertised.listeners=${doors}
inter.broker.listener.name=PLAINTEXT
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,SECURED:SASL_SSL,TOKENS:SASL_SSL,CONTROLLER:PLAINTEXT
listener.name.secured.sasl.enabled.mechanisms=SCRAM-SHA-512
listener.name.secured.scram-sha-512.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required;
listener.name.secured.ssl.keystore.type=PEM
listener.name.secured.ssl.keystore.location=${join(folder, 'server.pem')}
listener.name.tokens.sasl.enabled.mechanisms=OAUTHBEARER
${bearer}.sasl.jaas.config=org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required;
${bearer}.sasl.server.callback.handler.class=org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler
${bearer}.connections.max.reauth.ms=60000
sasl.oauthbearer.jwks.endpoint.url=${keys}
sasl.oauthbearer.expected.audience=kafka
listener.name.tokens.ssl.keystore.type=PEM
listener.name.tokens.ssl.keystore.location=${join(folder, 'server.pem')}
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:ANONYMOUS
`;
}
