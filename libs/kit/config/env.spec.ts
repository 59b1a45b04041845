import { rootCertificates } from 'node:tls';
import { z } from 'zod';
import {
  hasKafkaLogin,
  hasRedis,
  isSecret,
  kafkaEnv,
  keyringEnv,
  parseEnv,
  redisEnv,
  secret,
  tokenEnv,
} from './index.js';

const files: Readonly<Record<string, string>> = { '/run/secrets/redis': 'rediss://user:pass@redis:6379\n' };
const readFile = (path: string): string => {
  const text = files[path];
  if (text === undefined) throw new Error('no such file');
  return text;
};
const Env = z.object({ REDIS_URL: redisEnv.REDIS_URL, KAFKA_CLIENT_ID: kafkaEnv.KAFKA_CLIENT_ID });

describe('secret', () => {
  it.each(
    Object.entries({
      REDIS_URL: redisEnv.REDIS_URL,
      ENCRYPTION_KEYS: keyringEnv.ENCRYPTION_KEYS,
      JWT_PRIVATE_KEYS: tokenEnv.JWT_PRIVATE_KEYS,
      KAFKA_SASL_PASSWORD: kafkaEnv.KAFKA_SASL_PASSWORD,
      KAFKA_SSL_KEY: kafkaEnv.KAFKA_SSL_KEY,
      'a described one': secret(z.string()).describe('told later'),
      'a checked one': secret(z.string()).superRefine(() => undefined),
    }),
  )('marks %s', (_, field) => {
    expect(isSecret(field)).toBe(true);
  });

  it('leaves the others unmarked, and a description in place', () => {
    expect(isSecret(kafkaEnv.KAFKA_SASL_USERNAME)).toBe(false);
    expect(secret(z.string().describe('what it is')).description).toBe('what it is');
  });
});

describe('parseEnv', () => {
  it('reads a secret from the file that NAME_FILE names', () => {
    expect(parseEnv(Env, { REDIS_URL_FILE: '/run/secrets/redis' }, readFile).REDIS_URL).toBe(
      'rediss://user:pass@redis:6379',
    );
  });

  it('names a file that cannot be read, and a variable given twice', () => {
    expect(() => parseEnv(Env, { REDIS_URL_FILE: '/none' }, readFile)).toThrow(
      'REDIS_URL_FILE names a file that cannot be read',
    );
    expect(() => parseEnv(Env, { REDIS_URL: 'redis://a', REDIS_URL_FILE: '/run/secrets/redis' }, readFile)).toThrow(
      'REDIS_URL and REDIS_URL_FILE are both set',
    );
  });

  it('reads no file for what is not secret', () => {
    expect(parseEnv(Env, { KAFKA_CLIENT_ID_FILE: '/run/secrets/redis' }, readFile).KAFKA_CLIENT_ID).toBe(
      'partner-relay',
    );
  });
});

describe('a login at Kafka', () => {
  const Login = z.object(kafkaEnv).refine(...hasKafkaLogin);
  const whole = { KAFKA_SASL_MECHANISM: 'plain', KAFKA_SASL_USERNAME: 'u', KAFKA_SASL_PASSWORD: 'p4711' };
  const read = (env: Record<string, string>): unknown => parseEnv(Login, { KAFKA_BROKERS: 'a:9092', ...env }, readFile);

  it.each(Object.keys(whole))('is refused without %s', (name) => {
    expect(() => read({ ...whole, [name]: '' })).toThrow('KAFKA_SASL_PASSWORD go together');
  });

  it.each(['KAFKA_SSL_CERT', 'KAFKA_SSL_KEY'])('is refused with %s alone', (name) => {
    expect(() => read({ [name]: 'pem' })).toThrow('KAFKA_SSL_CERT and KAFKA_SSL_KEY go together');
  });

  const client = { KAFKA_SASL_USERNAME: 'relay', KAFKA_SASL_PASSWORD: 'p4711' };
  const bearer = { KAFKA_SASL_MECHANISM: 'oauthbearer' };
  const byServer = { ...bearer, ...client, KAFKA_SASL_TOKEN_URL: 'https://login.example/token' };
  const byRole = { ...bearer, KAFKA_SASL_AWS_REGION: 'eu-central-1' };

  it.each<[string, Record<string, string>, string]>([
    ['without a source of tokens', { ...bearer, ...client }, 'set one of them'],
    ['with two sources of tokens', { ...byServer, ...byRole }, 'set one of them'],
    ['without the secret of the client', { ...byServer, KAFKA_SASL_PASSWORD: '' }, 'go with KAFKA_SASL_TOKEN_URL'],
    ['with a client beside a region', { ...byRole, ...client }, 'not read beside KAFKA_SASL_AWS_REGION'],
    [
      'with a scope for a password',
      { ...whole, KAFKA_SASL_SCOPE: 'kafka' },
      'for KAFKA_SASL_MECHANISM=oauthbearer alone',
    ],
    ['with a region for none', { KAFKA_SASL_AWS_REGION: 'eu-central-1' }, 'for KAFKA_SASL_MECHANISM=oauthbearer alone'],
    [
      'with a secret in clear',
      { ...byServer, KAFKA_SASL_TOKEN_URL: 'http://login.example/' },
      'KAFKA_SASL_TOKEN_URL is wrong',
    ],
    [
      'with a secret in an address',
      { ...byServer, KAFKA_SASL_TOKEN_URL: 'https://a:p4711@b/' },
      'KAFKA_SASL_TOKEN_URL is wrong',
    ],
    ['with a place that is none', { ...byRole, KAFKA_SASL_AWS_REGION: 'Frankfurt' }, 'KAFKA_SASL_AWS_REGION is wrong'],
  ])('is refused %s', (_, env, fault) => {
    expect(() => read(env)).toThrow(fault);
    expect(() => read(env)).not.toThrow('p4711');
  });

  it.each([
    byServer,
    { ...byServer, KAFKA_SASL_SCOPE: 'kafka' },
    { ...byServer, KAFKA_SASL_TOKEN_URL: 'http://127.0.0.1:1/token' },
    byRole,
  ])('takes its tokens as %j', (env) => {
    expect(read(env)).toMatchObject(env);
  });

  it('is read whole, and may be left out', () => {
    expect(read({ ...whole, KAFKA_SSL_CA: rootCertificates[0] ?? '' })).toMatchObject(whole);
    expect(read({})).not.toHaveProperty('KAFKA_SASL_MECHANISM');
  });
});

describe('the address of Redis', () => {
  const Place = z.object(redisEnv).refine(...hasRedis);
  const read = (env: Record<string, string>): unknown => parseEnv(Place, env, readFile);

  it.each([
    ['nothing', {}, 'None of REDIS_URL, REDIS_SENTINELS and REDIS_CLUSTER_NODES is set'],
    [
      'both',
      { REDIS_URL: 'redis://a', REDIS_SENTINELS: 'b:26379' },
      'REDIS_URL and REDIS_SENTINELS are given together',
    ],
    ['sentinels and a cluster', { REDIS_SENTINELS: 'b:1', REDIS_CLUSTER_NODES: 'c:1' }, 'REDIS_SENTINELS and REDIS_CL'],
    ['a user beside a URL', { REDIS_URL: 'redis://a', REDIS_USERNAME: 'u' }, 'are not read beside REDIS_URL'],
    ['a password beside a URL', { REDIS_URL: 'redis://a', REDIS_PASSWORD: 'p4711' }, 'are not read beside REDIS_URL'],
    ['TLS beside a URL without', { REDIS_URL: 'redis://a', REDIS_TLS: 'true' }, 'write rediss://'],
  ])('is refused as %s', (_name, env, fault) => {
    expect(() => read(env)).toThrow(fault);
    expect(() => read(env)).not.toThrow('p4711');
  });

  it.each([
    ['a URL', { REDIS_URL: 'redis://user:pass@a' }],
    ['a URL that says TLS itself', { REDIS_URL: 'rediss://a', REDIS_TLS: 'true' }],
    ['sentinels with a login and TLS', { REDIS_SENTINELS: 'b:26379', REDIS_PASSWORD: 'p', REDIS_TLS: 'true' }],
  ])('is read as %s', (_name, env) => {
    expect(read(env)).toMatchObject({ REDIS_SENTINEL_NAME: 'mymaster' });
  });
});
