import { ConfigurationFault, parseEnv } from '@relay/config';
import { WorkerEnv } from './environments.js';

const faultsOf = (env: Record<string, string>): readonly string[] => {
  try {
    parseEnv(WorkerEnv, env, () => '');
    return [];
  } catch (error) {
    if (error instanceof ConfigurationFault) return error.faults;
    throw error;
  }
};

describe('WorkerEnv', () => {
  it('names every fault at once, without a secret', () => {
    const faults = faultsOf({
      ENCRYPTION_KEYS: 'k:c2VjcmV0',
      HEALTH_PORT: 'x',
      EGRESS_PORTS: '0',
      EGRESS_ALLOW_CIDRS: 'here',
      EGRESS_DENY_CIDRS: '10.0.0.0/99',
      EGRESS_NAT64_PREFIX: '64:ff9b::/97',
      RETRY_SCHEDULE: '5s,soon',
      DELIVERY_TIMEOUT: '0s',
      DEDUPE_WINDOW: '72',
    });
    const named = [
      'ENCRYPTION_KEYS',
      'HEALTH_PORT',
      'EGRESS_PORTS',
      'EGRESS_ALLOW_CIDRS',
      'EGRESS_DENY_CIDRS',
      'EGRESS_NAT64_PREFIX',
    ];
    for (const name of [...named, 'RETRY_SCHEDULE', 'DELIVERY_TIMEOUT', 'DEDUPE_WINDOW', 'KAFKA_BROKERS', 'REDIS_URL'])
      expect(faults.filter((fault) => fault.includes(name))).toHaveLength(1);
    expect(faults.join()).not.toContain('c2VjcmV0');
  });
});
