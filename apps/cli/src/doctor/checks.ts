import { parseSigningKeys } from '@relay/access';
import { kafkaEnv, processEnv, redisEnv, tokenEnv } from '@relay/config';
import { examine, type Finding, ok, orFault } from '@relay/doctor';
import { IngressEnv, WorkerEnv } from '@relay/settings';
import { keyringOf } from '../keyring.adapter.js';
import { withKafka, withRedis } from '../connections.adapter.js';
import { settingsOf } from '../settings.js';
import type { Shell } from '../shell.js';
import { egressFindings } from './egress.js';
import { proxyFinding } from './proxy.js';

const FIXES = {
  worker: 'correct it, or unset it for its default: no worker starts with it',
  ingress: 'correct it, or unset it for its default: no ingress starts with it',
};

const { RELAY_ENV } = processEnv;
/** The worker’s settings. */
const {
  EGRESS_PORTS,
  EGRESS_ALLOW_HTTP,
  EGRESS_ALLOW_CIDRS,
  EGRESS_DENY_CIDRS,
  EGRESS_NAT64_PREFIX,
  EGRESS_PROXY_URL,
  RETRY_SCHEDULE,
} = WorkerEnv.shape;
const sendingEnv = {
  EGRESS_PORTS,
  EGRESS_ALLOW_HTTP,
  EGRESS_ALLOW_CIDRS,
  EGRESS_DENY_CIDRS,
  EGRESS_NAT64_PREFIX,
  EGRESS_PROXY_URL,
};
const { TRUST_PROXY } = IngressEnv.shape;

/** Examines the stores, the keys, and the settings of worker and ingress that this environment holds. */
export async function checkAll(shell: Shell): Promise<Finding[]> {
  const stores = examine(
    {
      redis: (work) => withRedis(shell, work, 'global'),
      kafka: (work) => withKafka(shell, work),
    },
    {
      environment: () => settingsOf(shell, { RELAY_ENV }).RELAY_ENV,
      keyring: () => keyringOf(shell),
      signingKeys: () =>
        parseSigningKeys(settingsOf(shell, { JWT_PRIVATE_KEYS: tokenEnv.JWT_PRIVATE_KEYS }).JWT_PRIVATE_KEYS),
      wire: () => settingsOf(shell, { RELAY_ENV, ...kafkaEnv, ...redisEnv }),
    },
  );
  const settings = [
    orFault('egress', FIXES.worker, () => egressFindings(settingsOf(shell, { RELAY_ENV, ...sendingEnv }))),
    orFault('proxy', FIXES.ingress, () => [proxyFinding(settingsOf(shell, { TRUST_PROXY }).TRUST_PROXY)]),
    orFault('retries', FIXES.worker, () => {
      settingsOf(shell, { RETRY_SCHEDULE });
      return [ok('retries', 'RETRY_SCHEDULE can be read')];
    }),
  ];
  return (await Promise.all([stores, ...settings])).flat();
}
