import { ConfigurationFault, parseEnv } from '@relay/config';
import { aSigningKeyText } from '@relay/testing';
import { z } from 'zod';
import { commandLineEnv, IngressEnv, OperationsEnv, WorkerEnv } from './index.js';

const CANARY = 'c4n4ry7q';

/** What people write where a password, a key or an address is expected, with a canary in it. */
const SHAPES = [
  CANARY,
  ...['redis', 'rediss', 'http', 'https', 'ftp'].flatMap((scheme) =>
    ['#', '/', '?', '%', '%zz', ' ', '\\', '[', ':#', '1/', '1?', '1#'].flatMap((mark) => [
      `${scheme}://:${CANARY}${mark}w0rd@host:6379`,
      `${scheme}://user:12${mark}${CANARY}@host:6379`,
    ]),
  ),
  `redis://:${CANARY}@host:6379/${CANARY}`,
  `user:${CANARY}@host:9092`,
  `host:9092,redis://:${CANARY}@other:9092`,
  `host:${CANARY}`,
  `kid:${CANARY}`,
  `kid:${CANARY},kid:${CANARY}`,
  `-----BEGIN CERTIFICATE-----\n${CANARY}\n-----END CERTIFICATE-----`,
  `-----BEGIN PRIVATE KEY-----\\n${CANARY}\\n-----END PRIVATE KEY-----`,
  `authorization=Bearer ${CANARY}%`,
  `Bearer ${CANARY}`,
  `10.0.0.0/${CANARY}`,
  `5s,${CANARY}`,
];

const environments = { IngressEnv, WorkerEnv, OperationsEnv, commandLineEnv: z.object(commandLineEnv) };

const VALID: Readonly<Record<string, string>> = {
  KAFKA_BROKERS: '127.0.0.1:1',
  REDIS_URL: 'redis://x',
  ENCRYPTION_KEYS: `e1:${Buffer.alloc(32).toString('base64')}`,
  JWT_PRIVATE_KEYS: aSigningKeyText(),
  OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318',
};

function faultsOf(schema: z.ZodObject, env: Readonly<Record<string, string>>, file = ''): readonly string[] {
  try {
    parseEnv(schema, env, () => file);
    return [];
  } catch (error) {
    if (error instanceof ConfigurationFault) return error.faults;
    throw error;
  }
}

const fields = Object.assign({}, ...Object.values(environments).map(({ shape }) => shape)) as z.core.$ZodLooseShape;

it.each(Object.entries(fields))('nothing is repeated of what %s is set to, by itself or in a file', (name, field) => {
  const alone = z.object({ [name]: field });
  for (const shape of SHAPES)
    for (const env of [
      { ...VALID, [name]: shape },
      { ...without(name), [`${name}_FILE`]: shape },
    ])
      expect(faultsOf(alone, env, shape).join('\n')).not.toContain(CANARY);
});

const without = (name: string): Record<string, string> =>
  Object.fromEntries(Object.entries(VALID).filter(([other]) => other !== name));

/** What no driver is given. */
const refused: readonly (readonly [name: string, value: string, says: string])[] = [
  ...['#', '/', '?', '%', '%zz'].map(
    (mark) => ['REDIS_URL', `redis://:${CANARY}${mark}w0rd@host:6379`, 'percent-encode the password'] as const,
  ),
  ['REDIS_URL', `redis://user:12/${CANARY}@host:6379`, 'percent-encode the password'],
  ['REDIS_URL', `redis://user:12?${CANARY}@host:6379`, 'percent-encode the password'],
  ['REDIS_URL', `redis://user:12#${CANARY}@host:6379`, 'percent-encode the password'],
  ['REDIS_URL', `redis://host:6379/${CANARY}`, 'behind the host'],
  ['REDIS_URL', CANARY, 'redis:// or rediss://'],
  ['REDIS_SENTINELS', `redis://:${CANARY}@host:26379`, 'host:port'],
  ['REDIS_SENTINELS', `host:26379,user:${CANARY}@host:26379`, 'host:port'],
  ['REDIS_SENTINELS', 'host:0', 'host:port'],
  ['REDIS_CLUSTER_NODES', `:${CANARY}@host:6379`, 'host:port'],
  ['REDIS_CLUSTER_NODES', CANARY, 'host:port'],
  ['KAFKA_BROKERS', `https://user:${CANARY}@host:9092`, 'host:port'],
  ['KAFKA_BROKERS', `${CANARY}:port`, 'host:port'],
  ['KAFKA_BROKERS', 'host:65536', 'host:port'],
  ...[
    'host',
    'PLAINTEXT://host:9092',
    'b:2 c:3',
    '"host:9092"',
    "'host:9092'",
    'host:99999',
    'host:9092;c:3',
    'b\r:1',
  ].flatMap((wrong) => [
    ['KAFKA_BROKERS', `a:1,${wrong}`, 'entry 2: host:port'] as const,
    ['REDIS_CLUSTER_NODES', `a:1,${wrong}`, 'entry 2: host:port'] as const,
  ]),
  ...['KAFKA_CONSUMER_GROUP', 'KAFKA_CLIENT_ID', 'REDIS_SENTINEL_NAME'].flatMap((name) =>
    ['relay\r', 'relay\n', ' relay', 're lay', 'r\u00e9lay'].map((value) => [name, value, 'printable ASCII'] as const),
  ),
  ...'KAFKA_SASL_USERNAME KAFKA_SASL_PASSWORD KAFKA_SASL_SCOPE REDIS_USERNAME REDIS_PASSWORD REDIS_SENTINEL_PASSWORD OTEL_SERVICE_NAME'
    .split(' ')
    .flatMap((name) => ['relay\r', 'relay\n'].map((value) => [name, value, 'control characters'] as const)),
  ['KAFKA_TOPIC_PREFIX', 'relay\r', 'letters, digits'],
  ['KAFKA_SSL_CA', CANARY, 'PEM'],
  ['KAFKA_SSL_CERT', `-----BEGIN CERTIFICATE-----\n${CANARY}\n-----END CERTIFICATE-----`, 'PEM'],
  ['KAFKA_SSL_KEY', `-----BEGIN PRIVATE KEY-----\\n${CANARY}\\n-----END PRIVATE KEY-----`, 'PEM'],
  ['KAFKA_SASL_TOKEN_URL', `https://[${CANARY}`, 'https://'],
  ['EGRESS_PROXY_URL', `http://user:${CANARY}#@proxy:3128`, 'percent-encode the password'],
  ['EGRESS_PROXY_URL', `http://user:12/${CANARY}@proxy:3128`, 'percent-encode the password'],
  ['EGRESS_PROXY_URL', `http://user:${CANARY}%@proxy:3128`, 'percent-encode the password'],
  ['EGRESS_PROXY_URL', `socks5://user:${CANARY}@proxy:1080`, 'http:// or https://'],
  ['PUBLIC_URL', `https://user:${CANARY}@relay.example`, 'no user'],
  ['PUBLIC_URL', `https://relay.example/?${CANARY}`, 'behind the host'],
  ['PUBLIC_URL', `javascript:${CANARY}`, 'http:// or https://'],
  ['OTEL_EXPORTER_OTLP_ENDPOINT', `https://user:${CANARY}@collector:4318`, 'no user'],
  ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', `https://${CANARY}#@collector:4318`, 'cannot be read'],
  ['OTEL_EXPORTER_OTLP_HEADERS', `authorization=Bearer ${CANARY}%`, 'percent-encoded'],
  ['OTEL_EXPORTER_OTLP_HEADERS', `Bearer ${CANARY}`, 'name=value'],
  ['OPERATIONS_URL', `https://user:${CANARY}@operations.example`, 'no user'],
  ['OIDC_ISSUER', `http://${CANARY}.example`, 'https://'],
  ['OIDC_SCOPES', CANARY, 'openid'],
  ['CONSOLE_URL', `https://console.example/?${CANARY}`, 'behind the host'],
  ['ENCRYPTION_KEYS', `kid:${CANARY}`, 'entry 1'],
  ['JWT_PRIVATE_KEYS', `kid:${CANARY}`, 'entry 1'],
];

it.each(refused)('%s %j is refused by its name when it is read', (name, value, says) => {
  // The command line reads keys by another way than a schema.
  const readers = Object.entries(environments).filter(
    ([env, { shape }]) => name in shape && !(env === 'commandLineEnv' && name.endsWith('_KEYS')),
  );
  expect(readers).not.toEqual([]);
  for (const [, schema] of readers) {
    const faults = faultsOf(schema, { ...VALID, [name]: value });
    expect(faults.filter((fault) => fault.startsWith(`${name} is wrong: `) && fault.includes(says))).toHaveLength(1);
  }
});

it.each([
  ['REDIS_URL', 'redis://:p%23w0rd@host:6379/3?family=6'],
  ['REDIS_URL', 'rediss://user:p%2Fw@[::1]:6379'],
  ['REDIS_URL', 'redis://host'],
  ['EGRESS_PROXY_URL', 'http://user:p%40ss@proxy:3128/'],
  ['PUBLIC_URL', 'https://relay.example/api/'],
  ['KAFKA_BROKERS', 'kafka-0.kafka:9092, [2001:db8::1]:9092'],
])('%s %s is taken', (name, value) => {
  expect(faultsOf(IngressEnv, { ...VALID, [name]: value })).toEqual([]);
});

it('names all faults at once', () => {
  const given = Object.fromEntries(refused.map(([name, value]) => [name, value]));
  const faults = faultsOf(WorkerEnv, { ...VALID, ...given });
  for (const name of Object.keys(given).filter((one) => one in WorkerEnv.shape))
    expect(faults.filter((fault) => fault.startsWith(`${name} is wrong`))).toHaveLength(1);
});

it.each([
  [{ OIDC_ISSUER: 'https://id.example', OIDC_CLIENT_ID: 'relay' }, 'go together'],
  [{ OIDC_CLIENT_SECRET: CANARY, CONSOLE_URL: 'https://console.example' }, 'go together'],
  [{ OIDC_ISSUER: 'https://id.example', OIDC_CLIENT_ID: 'relay', OIDC_CLIENT_SECRET: CANARY }, 'go together'],
  [
    {
      OIDC_ISSUER: 'https://id.example',
      OIDC_CLIENT_ID: 'relay',
      OIDC_CLIENT_SECRET: CANARY,
      CONSOLE_URL: 'https://console.example',
    },
    'nobody has a role',
  ],
])('half an identity provider is a fault: %j', (given, says) => {
  expect(faultsOf(OperationsEnv, { ...VALID, ...given })).toEqual([expect.stringContaining(says)]);
});
