// Development mode: the chart brings its own Kafka and Valkey, and the least that must be told is told.
import { imageValues, newNamespace } from '../installation.mjs';
import { installGroups, uninstallGroup } from '../groups/install.mjs';
import { policyGroups } from '../groups/policies.mjs';
import { release } from '../release.mjs';
import { ADDRESS, OPENED_PORT } from '../settings.mjs';

const NAMESPACE = 'relay';
const uninstalled = uninstallGroup('development mode');

export const development = {
  name: 'development mode',
  /** Always run; without the first there is nothing to try. */
  always: [Object.keys(installGroups)[0], ...Object.keys(uninstalled)],
  async prepare(base) {
    const { cluster, images, partner } = base;
    const { keys } = await newNamespace(base, NAMESPACE);
    const values = {
      existingSecret: 'relay-keys',
      ...imageValues(images),
      caBundle: { configMap: 'authority' },
      development: { enabled: true },
      stores: { kafka: { image: images.kafka.reference }, valkey: { image: images.valkey.reference } },
      networkPolicy: {
        extraEgress: [{ ports: [{ port: OPENED_PORT }], to: [{ ipBlock: { cidr: `${ADDRESS}/32` } }] }],
      },
    };
    return { ...base, keys, relay: release(cluster, { namespace: NAMESPACE, values, partner, rate: 25 }) };
  },
  groups: { ...installGroups, ...policyGroups, ...uninstalled },
};
