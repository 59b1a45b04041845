// What operators change while envelopes come: values, keys, revisions.
import { NAMESPACE, RELEASE, FULL_NAME, judged } from '../release.mjs';
import { secretOf, keysSecret } from '../manifests.mjs';

const ROLES = ['ingress', 'worker', 'operations'];

/** Runs a task under the load; what became of the envelopes, and how long it took. */
export async function underLoad(relay, task, mayFail) {
  const load = await relay.load();
  const since = Date.now();
  let took;
  let found;
  try {
    await task();
    took = Math.round((Date.now() - since) / 1000);
  } finally {
    found = await load.stop();
  }
  return `${took} s; ${judged(found, mayFail)}`;
}

export const changeGroups = {
  'upgrade with changed values': ({ relay }) =>
    underLoad(relay, () => relay.helm('upgrade', { config: { LOG_LEVEL: 'debug' } })),
  async 'keys rotated as docs/operations/upgrade.md says'({ cluster, relay, keys }) {
    const two = keysSecret(NAMESPACE, 'relay-keys', keys).keys;
    const first = { encryption: two.encryption.toReversed(), signing: two.signing.toReversed() };
    return underLoad(relay, async () => {
      await restarted(cluster, relay, two);
      await restarted(cluster, relay, first);
      await relay.kubectl('exec', `deploy/${FULL_NAME}-ingress`, '--', 'relay', 'keys', 'rotate');
    });
  },
  rollback: ({ cluster, relay }) =>
    underLoad(relay, () => cluster.helm('rollback', RELEASE, '1', '-n', NAMESPACE, '--wait', '--timeout=5m')),
};

async function restarted(cluster, relay, keys) {
  await cluster.apply('keys', [secretOf(NAMESPACE, 'relay-keys', keys)]);
  const all = ROLES.map((role) => `deploy/${FULL_NAME}-${role}`);
  await relay.kubectl('rollout', 'restart', ...all);
  for (const one of all) await relay.kubectl('rollout', 'status', one, '--timeout=4m');
}
