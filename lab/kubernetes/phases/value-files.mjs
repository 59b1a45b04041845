// The value files of the chart: all are taken by the API server with the definitions of other projects; those whose stores can be had
// here run, under the names that the files give them.
import { readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Fault } from '../../../scripts/lib/process.mjs';
import { chart } from '../cluster.mjs';
import { imageValues, named, newNamespace } from '../installation.mjs';
import { judged, release } from '../release.mjs';
import { hostOf, STORES } from '../stores/stores.mjs';

const folder = join(chart, 'ci');
const FILES = [...readdirSync(folder).filter((name) => name.endsWith('-values.yaml')), '../values-small.yaml'];
const nameOf = (file) => basename(file, '-values.yaml');
const LOAD_MS = 10_000;
/** By file the names that it has for stores, and whose they are here. */
const alias = (name, host) => ({ name, host });
const KAFKA = alias('kafka', `kafka.${STORES}.svc.cluster.local`);
const PLAIN = alias('redis', hostOf('plain', 0));
const three = (letter) => [0, 1, 2].map((number) => alias(`${letter}${number}`, hostOf(letter, number)));
const RUN = {
  minimal: [KAFKA, PLAIN],
  sentinel: [KAFKA, ...three('s')],
  cluster: [KAFKA, ...three('c')],
  'tls-sasl': [KAFKA, PLAIN],
};

export const valueFiles = {
  name: 'value files of the chart',
  always: [],
  async prepare(base) {
    const { logins } = await base.stores();
    const { key, certificate } = await base.authority.issue('client', ['client']);
    const stringData = { 'ca.crt': base.authority.ca, 'tls.crt': certificate, 'tls.key': key };
    const secured = (namespace) => [
      { ...named('Secret', namespace, 'kafka-tls'), stringData },
      { ...named('Secret', namespace, 'kafka-user'), stringData: { password: logins.KAFKA_PASSWORD } },
      { ...named('Secret', namespace, 'relay-redis'), stringData: { REDIS_URL: 'redis://redis:6379' } },
    ];
    return { ...base, secured };
  },
  groups: {
    async 'value files, taken by the API server'({ cluster, images }) {
      await cluster.apply('values', [{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'values' } }]);
      const relay = release(cluster, { namespace: 'values', values: imageValues(images) });
      for (const file of FILES) {
        const more = ['--dry-run=server', '--no-hooks'];
        const options = { files: [join(folder, file)], more };
        await relay.helm('install', options).catch((error) => {
          throw new Fault(`${file}: ${error.message}`);
        });
      }
      return `${FILES.length} files: ${FILES.map(nameOf).join(', ')}`;
    },
    ...Object.fromEntries(
      Object.keys(RUN).map((name) => [`value file ${name}, run`, (context) => runs(name, context)]),
    ),
  },
};

/** Installed as the file says; what is of this cluster alone comes over it. Each is a deployment of its own. */
async function runs(name, context) {
  const { cluster, images, partner, secured } = context;
  const namespace = `values-${name}`;
  const services = RUN[name].map(({ name: service, host }) =>
    Object.assign(named('Service', namespace, service), { spec: { type: 'ExternalName', externalName: host } }),
  );
  await cluster.kubectl('-n', STORES, 'exec', 'plain-0', '--', 'redis-cli', 'FLUSHALL');
  await newNamespace(context, namespace, { objects: [...services, ...secured(namespace)] });
  const { image, ingressApp, worker } = imageValues(images);
  const values = {
    image,
    caBundle: { configMap: 'authority' },
    config: { KAFKA_TOPIC_PREFIX: `${name}.`, KAFKA_CONSUMER_GROUP: name },
    worker: { ...worker, replicaCount: 1 },
    ingressApp: { ...ingressApp, replicaCount: 1 },
  };
  const relay = release(cluster, { namespace, values, partner, rate: 20 });
  const since = Date.now();
  await relay.helm('install', { files: [join(folder, `${name}-values.yaml`)] });
  const pods = await relay.pods();
  const took = Math.round((Date.now() - since) / 1000);
  const load = await relay.load();
  await delay(LOAD_MS);
  const found = judged(await load.stop());
  await cluster.helm('uninstall', 'relay', '-n', namespace, '--wait', '--timeout=3m');
  // Waits for its pods too, so that none of them writes to the Redis that the next file finds empty.
  await cluster.kubectl('delete', 'namespace', namespace, '--timeout=2m');
  return `${pods.length} pods ready after ${took} s; ${found}`;
}
