// Changes by operators while envelopes arrive: versions, values, keys.
import { newKeys, secretOf } from '../manifests.mjs';
import { FULL_NAME, RELEASE, underLoad } from '../release.mjs';

const ROLES = ['ingress', 'worker', 'operations'];
const ROLLBACK = ['rollback', RELEASE, '1', '--wait', '--timeout=5m'];

export const changeGroups = {
  'upgrade to this version, both side by side meanwhile': ({ relay }) => underLoad(relay, () => relay.helm('upgrade')),
  'rollback to the version before': ({ cluster, relay }) =>
    underLoad(relay, () => cluster.helm(...ROLLBACK, '-n', relay.namespace)),
  'upgrade with changed values': ({ relay }) =>
    underLoad(relay, () => relay.helm('upgrade', { changes: { config: { LOG_LEVEL: 'debug' } } })),
  async 'keys rotated as docs/operations/upgrade.md says'({ cluster, relay, keys, secrets }) {
    const two = newKeys(keys);
    const first = { encryption: two.encryption.toReversed(), signing: two.signing.toReversed() };
    const restarted = async (some) => {
      await cluster.apply('keys', [secretOf(relay.namespace, 'relay-keys', some, secrets)]);
      const all = ROLES.map((role) => `deploy/${FULL_NAME}-${role}`);
      await relay.kubectl('rollout', 'restart', ...all);
      for (const one of all) await relay.kubectl('rollout', 'status', one, '--timeout=4m');
    };
    return underLoad(relay, async () => {
      await restarted(two);
      await restarted(first);
      await relay.kubectl('exec', `deploy/${FULL_NAME}-ingress`, '--', 'relay', 'keys', 'rotate');
    });
  },
};
