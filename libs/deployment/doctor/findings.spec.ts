import { describe, expect, it } from '@jest/globals';
import { fault, ok, summaryOf, warning } from './finding.js';
import { replicationFindings, storedFinding } from './store-checks.adapter.js';
import { passwordFindings, type WireSettings } from './examine.js';
import { clockFinding, redisFindings } from './conditions.js';

const info = (policy: string, aof: string, maxmemory = 1_000): string =>
  `# Memory\r\nmaxmemory:${maxmemory}\r\nmaxmemory_policy:${policy}\r\n# Persistence\r\naof_enabled:${aof}\r\n`;

describe('redisFindings', () => {
  it.each([
    ['noeviction', '1', 'production', ['ok', 'ok', 'ok', 'ok']],
    ['allkeys-lru', '1', 'production', ['fault', 'ok', 'ok', 'ok']],
    ['allkeys-lru', '1', 'development', ['fault', 'ok', 'ok', 'ok']],
    ['noeviction', '0', 'production', ['ok', 'ok', 'fault', 'ok']],
    ['noeviction', '0', 'development', ['ok', 'ok', 'warning', 'ok']],
  ])('reads a policy %s with aof_enabled %s in %s', (policy, aof, environment, states) => {
    expect(redisFindings(info(policy, aof), environment).map(({ state }) => state)).toEqual(states);
  });

  it.each([
    ['always', 'ok'],
    [undefined, 'ok'],
    ['everysec', 'warning'],
    ['no', 'warning'],
  ])('reads an appendfsync of %s', (syncing, state) => {
    expect(redisFindings(info('noeviction', '1'), 'production', syncing)[2]).toMatchObject({
      check: 'redis durability',
      state,
    });
  });

  it.each([
    [0, 'production', 'warning'],
    [0, 'development', 'ok'],
    [1, 'production', 'ok'],
  ])('reads a maxmemory of %d in %s', (maxmemory, environment, state) => {
    const found = redisFindings(info('noeviction', '1', maxmemory), environment)[1];
    expect(found).toMatchObject({ check: 'redis memory limit', state });
  });

  it.each(['aof_last_write_status', 'aof_last_bgrewrite_status', 'rdb_last_bgsave_status'])(
    'takes %s for what a full disk may be',
    (status) => {
      const text = `${info('noeviction', '1')}${status}:`;
      expect(redisFindings(`${text}ok\r\n`, 'development')[3]).toMatchObject({ check: 'redis disk', state: 'ok' });
      expect(redisFindings(`${text}err\r\n`, 'development')[3]).toMatchObject({ check: 'redis disk', state: 'fault' });
    },
  );

  it('tells that keys were dropped, also when nothing may be dropped any more', () => {
    const found = redisFindings(`${info('noeviction', '1')}evicted_keys:12\r\n`, 'development');
    expect(found.filter(({ state }) => state === 'fault')).toMatchObject([
      { check: 'redis evictions', text: expect.stringContaining('evicted_keys is 12') },
    ]);
  });

  it('takes a policy it is not told for a fault', () => {
    expect(redisFindings('# Server\r\n', 'development')[0]?.state).toBe('fault');
  });
});

describe('clockFinding', () => {
  it.each([
    [0, 'ok', 'within 1 s'],
    [-4_900, 'ok', 'within 5 s'],
    [5_000, 'fault', '5 s behind that of Redis'],
    [-90_000, 'fault', '90 s ahead of that of Redis'],
  ])('for %d ms is %s: %s', (aheadMs, state, text) => {
    expect(clockFinding(aheadMs)).toMatchObject({ state, text: expect.stringContaining(text) });
  });
});

describe('passwordFindings', () => {
  const none = { KAFKA_BROKERS: ['kafka:9092'], REDIS_SENTINELS: [], REDIS_SENTINEL_NAME: 'mymaster' };
  const plain = { KAFKA_SASL_MECHANISM: 'plain' };
  const sentinels = { REDIS_SENTINELS: ['s1:26379', '127.0.0.1:26379'] };
  const statesOf = (settings: Partial<WireSettings>) =>
    passwordFindings({ RELAY_ENV: 'production', ...none, ...settings }).map(({ state, fix }) => [
      state,
      fix?.slice(0, 22),
    ]);

  it.each<[string, Partial<WireSettings>]>([
    ['no password', { REDIS_URL: 'redis://redis:6379' }],
    ['plain by TLS', { ...plain, KAFKA_SSL_CA: 'pem' }],
    ['plain by TLS with public authorities', { ...plain, KAFKA_SSL: true }],
    ['plain by TLS with a certificate', { ...plain, KAFKA_SSL_CERT: 'pem', KAFKA_SSL_KEY: 'pem' }],
    ['plain on this machine', { ...plain, KAFKA_BROKERS: ['127.0.0.1:9092', 'localhost:9093'] }],
    ['SCRAM', { KAFKA_SASL_MECHANISM: 'scram-sha-256' }],
    ['a password by TLS', { REDIS_URL: 'rediss://u:p@redis:6380' }],
    ['a password on this machine', { REDIS_URL: 'redis://:p@[::1]:6379' }],
    ['sentinels by TLS', { ...sentinels, REDIS_PASSWORD: 'p', REDIS_TLS: true }],
    ['development', { ...plain, RELAY_ENV: 'development', REDIS_URL: 'redis://:p@redis' }],
  ])('is content with %s', (_, settings) => {
    expect(statesOf(settings)).toEqual([['ok', undefined]]);
  });

  it.each<[string, Partial<WireSettings>, string]>([
    ['plain without TLS', plain, 'set KAFKA_SSL=true, or'],
    ['tokens without TLS', { KAFKA_SASL_MECHANISM: 'oauthbearer' }, 'set KAFKA_SSL=true, or'],
    [
      'plain to one broker elsewhere',
      { ...plain, KAFKA_BROKERS: ['127.0.0.1:9092', 'b:9092'] },
      'set KAFKA_SSL=true, or',
    ],
    ['redis: to another host', { REDIS_URL: 'redis://u:p@10.0.0.5:6379/0' }, 'have Redis speak TLS a'],
    [
      'redis: to a host that only begins like this one',
      { REDIS_URL: 'redis://:p@localhost.example' },
      'have Redis speak TLS a',
    ],
    ['sentinels without TLS', { ...sentinels, REDIS_PASSWORD: 'p' }, 'set REDIS_TLS=true, th'],
    ['the password of sentinels', { ...sentinels, REDIS_SENTINEL_PASSWORD: 'p' }, 'set REDIS_TLS=true, th'],
  ])('warns of %s', (_, settings, fix) => {
    expect(statesOf(settings)).toEqual([['warning', fix]]);
  });
});

describe('replicationFindings', () => {
  const topic = (name: string, replication: number) => ({ topic: name, partitions: 6, replication });

  it.each([
    ['production', [3, 2], 'ok', 'two replicas or more'],
    ['production', [3, 1], 'warning', '1 of 2 topics have one replica, such as b'],
    ['development', [1, 1], 'ok', 'RELAY_ENV=development'],
  ])('in %s with %j copies', (environment, [a = 0, b = 0], state, text) => {
    const found = replicationFindings([topic('a', a), topic('b', b)], environment);
    expect(found).toEqual([expect.objectContaining({ state, text: expect.stringContaining(text) })]);
  });

  it('says nothing of no topics', () => {
    expect(replicationFindings([], 'production')).toEqual([]);
  });
});

describe('storedFinding', () => {
  it('names a record that no key opens', () => {
    const found = storedFinding('x', [
      { name: 'one', opens: true },
      { name: 'two', opens: false },
    ]);
    expect(found).toMatchObject({ state: 'fault', text: '1 of 2 cannot be read, such as two' });
  });

  it('is content when all open', () => {
    expect(storedFinding('x', [{ name: 'one', opens: true }])).toEqual(ok('x', '1 of 1 can be read'));
  });
});

describe('summaryOf', () => {
  it('is healthy with warnings, not with a fault', () => {
    expect(summaryOf([ok('a', 'well'), warning('b', 'odd', 'mend it')])).toMatchObject({
      healthy: true,
      faults: 0,
      warnings: 1,
    });
    expect(summaryOf([fault('c', 'bad', 'repair it')])).toMatchObject({ healthy: false, faults: 1, warnings: 0 });
  });
});
