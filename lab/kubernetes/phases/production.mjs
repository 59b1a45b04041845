// Production mode: brokers and Redis of others, TLS and logins everywhere, endpoints at public addresses. It begins with the version
// before this one.
import { setTimeout as delay } from 'node:timers/promises';
import { Fault, until } from '../../../scripts/lib/process.mjs';
import { autoscalingGroups } from '../groups/autoscaling.mjs';
import { changeGroups } from '../groups/changes.mjs';
import { disruptionGroups } from '../groups/disruptions.mjs';
import { uninstallGroup } from '../groups/install.mjs';
import { resourceGroups } from '../groups/resources.mjs';
import { storeGroups } from '../groups/stores.mjs';
import { imageValues, named, newNamespace } from '../installation.mjs';
import { ENDPOINT, release } from '../release.mjs';
import { hostsOf, PRIMARY, STORES, USER } from '../stores/stores.mjs';

const NAMESPACE = 'production';
const RATE = 100;
const INSTALL = 'install, production mode, the version before';
const uninstalled = uninstallGroup('production mode');
const [UPGRADE] = Object.keys(changeGroups);

export const production = {
  name: 'production mode',
  /** Always run; without the first there is nothing to try. */
  always: [INSTALL, UPGRADE, ...Object.keys(uninstalled)],
  async prepare(base) {
    const { cluster, before, partner } = base;
    const { logins } = await base.stores();
    const { REDIS_PASSWORD, SENTINEL_PASSWORD: REDIS_SENTINEL_PASSWORD } = logins;
    const { keys } = await newNamespace(base, NAMESPACE, {
      more: { REDIS_PASSWORD, REDIS_SENTINEL_PASSWORD },
      objects: [
        { ...named('Secret', NAMESPACE, 'kafka-tls'), stringData: { 'ca.crt': base.authority.ca } },
        { ...named('Secret', NAMESPACE, 'kafka-user'), stringData: { password: logins.KAFKA_PASSWORD } },
      ],
    });
    const settings = { values: valuesOf(base.images), partner, rate: RATE, namespace: NAMESPACE };
    const relay = release(cluster, settings);
    const secrets = { REDIS_PASSWORD, REDIS_SENTINEL_PASSWORD };
    return { ...base, keys, secrets, relay, beforeImage: imageValues({ 'partner-relay': before.image }) };
  },
  groups: {
    async [INSTALL]({ relay, before, beforeImage }) {
      const since = Date.now();
      await relay.helm('install', { from: before.chart, changes: beforeImage });
      const pods = await relay.pods();
      return `${before.revision}: ${pods.length} pods ready after ${Math.round((Date.now() - since) / 1000)} s`;
    },
    ...changeGroups,
    async 'helm test and doctor, production mode'({ cluster, relay }) {
      const load = await relay.load({ rate: 5 });
      try {
        const said = await cluster.helm('test', 'relay', '-n', NAMESPACE, '--logs');
        if (!said.includes('\ndelivered')) throw new Fault(said);
      } finally {
        await load.stop();
      }
      let told;
      const isHealthy = async () => {
        told = await relay.kubectl('exec', 'deploy/relay-partner-relay-ingress', '--', 'relay', 'doctor').catch(String);
        return told.includes('no fault found') || (await delay(2_000, false));
      };
      if (!(await until(isHealthy, 30_000))) throw new Fault(told);
      return 'delivered; no fault found';
    },
    ...resourceGroups,
    ...autoscalingGroups,
    ...disruptionGroups,
    ...storeGroups,
    ...uninstalled,
  },
};

const valuesOf = (images) => ({
  ...imageValues(images),
  existingSecret: 'relay-keys',
  secretKeys: { REDIS_PASSWORD: 'REDIS_PASSWORD', REDIS_SENTINEL_PASSWORD: 'REDIS_SENTINEL_PASSWORD' },
  config: { PUBLIC_URL: 'https://relay.example', REDIS_USERNAME: USER, REDIS_TLS: true },
  caBundle: { configMap: 'authority' },
  kafka: {
    brokers: hostsOf('kafka', 3, 9094),
    tls: { existingSecret: 'kafka-tls' },
    sasl: { mechanism: 'scram-sha-512', username: USER, existingSecret: 'kafka-user' },
  },
  redis: { sentinel: { nodes: hostsOf('sentinel', 3, 26379), name: PRIMARY } },
  networkPolicy: { storesTo: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': STORES } } }] },
  tests: { endpointUrl: ENDPOINT },
});
