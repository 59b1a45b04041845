import { ConfigurationFault, parseEnv } from '@relay/config';
import { aSigningKeyText } from '@relay/testing';
import { IngressEnv, type IngressConfig } from './environments.js';

const faultsOf = (env: Record<string, string>): readonly string[] => {
  try {
    parseEnv(IngressEnv, env, () => '');
    return [];
  } catch (error) {
    if (error instanceof ConfigurationFault) return error.faults;
    throw error;
  }
};

/** The configuration of an ingress that sets nothing but this and what it must. */
const configOf = (changes: Record<string, string>): IngressConfig =>
  parseEnv(
    IngressEnv,
    {
      KAFKA_BROKERS: '127.0.0.1:1',
      REDIS_URL: 'redis://x',
      ENCRYPTION_KEYS: `e1:${Buffer.alloc(32).toString('base64')}`,
      JWT_PRIVATE_KEYS: aSigningKeyText(),
      ...changes,
    },
    () => '',
  );

describe('IngressEnv', () => {
  it('tells every fault at once, without a value', () => {
    const faults = faultsOf({
      ENCRYPTION_KEYS: 'k:c2VjcmV0',
      JWT_PRIVATE_KEYS: aSigningKeyText('k', 'P-384'),
      PORT: 'x',
      EGRESS_PORTS: '0',
      EGRESS_DENY_CIDRS: '10.0.0.0/99',
      EGRESS_NAT64_PREFIX: '64:ff9b::/97',
      TRUST_PROXY: 'somebody',
      PORTAL_THEME: '{"accent":"red"}',
    });
    const named = [
      'ENCRYPTION_KEYS',
      'JWT_PRIVATE_KEYS',
      'PORT',
      'EGRESS_PORTS',
      'EGRESS_DENY_CIDRS',
      'EGRESS_NAT64_PREFIX',
      'TRUST_PROXY',
      'PORTAL_THEME is wrong: accent: ',
    ];
    for (const name of [...named, 'KAFKA_BROKERS', 'REDIS_URL'])
      expect(faults.filter((fault) => fault.includes(name))).not.toEqual([]);
    expect(faults.join()).not.toMatch(/c2VjcmV0|somebody/);
  });

  it.each([
    ['false', false],
    ['true', true],
    ['2', 2],
    ['10.0.0.0/8, ::1', '10.0.0.0/8, ::1'],
  ])('reads TRUST_PROXY %s', (text, value) => {
    expect(configOf({ TRUST_PROXY: text }).TRUST_PROXY).toBe(value);
  });

  it('ends the public address without a slash', () => {
    expect(configOf({ PUBLIC_URL: 'https://relay.example/api/' }).PUBLIC_URL).toBe('https://relay.example/api');
  });
});
