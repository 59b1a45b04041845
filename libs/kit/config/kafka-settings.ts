import { z } from 'zod';
import { flag, integer, secret } from './env.js';
import { line, name, pem, places, secureUrl, without } from './forms.js';

export const kafkaEnv = {
  KAFKA_BROKERS: places()
    .refine((brokers) => brokers.length > 0, 'at least one host:port is expected')
    .describe('Brokers as host:port, comma separated.'),
  KAFKA_CLIENT_ID: name().default('partner-relay').describe('Client id shown to the brokers.'),
  KAFKA_CONSUMER_GROUP: name().default('partner-relay').describe('Consumer group shared by all workers.'),
  KAFKA_TOPIC_PREFIX: z
    .string()
    .regex(/^[\w.-]*$/, 'letters, digits, `.`, `_` and `-` are expected')
    .default('')
    .meta({ values: 'letters, digits, `.`, `_`, `-`' })
    .describe('Put before every topic name.'),
  KAFKA_TOPIC_PARTITIONS: integer(6, 1, 10_000).describe(
    'Partitions of each event topic and of `relay.delivery-attempts` that `relay topics create` makes.',
  ),
  KAFKA_TOPIC_REPLICATION: integer(3, 1, 100).describe('Replicas of each topic that `relay topics create` makes.'),
  BUILT_IN_EVENT_TYPES: flag(true).describe(
    'Whether the relay has its 14 built-in event types; `false` begins without any. All processes need the same value.',
  ),
  KAFKA_SSL: flag(false).describe(
    'Whether the connections to the brokers use TLS, with the authorities that Node trusts, or KAFKA_SSL_CA, which turns it on too.',
  ),
  KAFKA_SSL_CA: secret(pem('CERTIFICATE').optional()).describe(
    'PEM of the certificate authority. This, a certificate or a key turns TLS on.',
  ),
  KAFKA_SSL_CERT: secret(pem('CERTIFICATE').optional()).describe('PEM of the client certificate.'),
  KAFKA_SSL_KEY: secret(pem('PRIVATE KEY').optional()).describe('PEM of the client key.'),
  KAFKA_SASL_MECHANISM: z
    .enum(['plain', 'scram-sha-256', 'scram-sha-512', 'oauthbearer'])
    .optional()
    .describe('SASL mechanism; unset: none.'),
  KAFKA_SASL_USERNAME: line().optional().describe('SASL user; the client id where KAFKA_SASL_TOKEN_URL gives tokens.'),
  KAFKA_SASL_PASSWORD: secret(line().optional()).describe(
    'SASL password; the secret of the client where KAFKA_SASL_TOKEN_URL gives tokens.',
  ),
  KAFKA_SASL_TOKEN_URL: secureUrl()
    .optional()
    .meta({ values: '`https://…`' })
    .describe('Address that gives tokens for `oauthbearer` by client credentials (RFC 6749 section 4.4).'),
  KAFKA_SASL_SCOPE: line().optional().describe('Scope of the tokens of KAFKA_SASL_TOKEN_URL.'),
  KAFKA_SASL_AWS_REGION: z
    .string()
    .regex(/^[a-z]{2}(-[a-z]+)+-\d$/, 'a region such as eu-central-1 is expected')
    .optional()
    .meta({ values: 'such as `eu-central-1`' })
    .describe(
      'Region of an Amazon MSK that knows IAM roles: tokens for `oauthbearer` are signed with the credentials that AWS’s SDK finds.',
    ),
};

const KafkaLogin = z.object({
  KAFKA_SASL_MECHANISM: z.string().optional(),
  KAFKA_SASL_USERNAME: z.string().optional(),
  KAFKA_SASL_PASSWORD: z.string().optional(),
  KAFKA_SASL_TOKEN_URL: z.string().optional(),
  KAFKA_SASL_SCOPE: z.string().optional(),
  KAFKA_SASL_AWS_REGION: z.string().optional(),
  KAFKA_SSL_CERT: z.string().optional(),
  KAFKA_SSL_KEY: z.string().optional(),
});

type Login = z.infer<typeof KafkaLogin>;

function passwordFault(login: Login): string | undefined {
  const sasl = [login.KAFKA_SASL_MECHANISM, login.KAFKA_SASL_USERNAME, login.KAFKA_SASL_PASSWORD];
  const given = sasl.filter((value) => value !== undefined).length;
  if (given > 0 && given < sasl.length)
    return 'KAFKA_SASL_MECHANISM, KAFKA_SASL_USERNAME and KAFKA_SASL_PASSWORD go together: set all three or none';
  return [login.KAFKA_SASL_TOKEN_URL, login.KAFKA_SASL_SCOPE, login.KAFKA_SASL_AWS_REGION].some(isSet)
    ? 'KAFKA_SASL_TOKEN_URL, KAFKA_SASL_SCOPE and KAFKA_SASL_AWS_REGION are for KAFKA_SASL_MECHANISM=oauthbearer alone'
    : undefined;
}

function tokenFault(login: Login): string | undefined {
  const client = [login.KAFKA_SASL_USERNAME, login.KAFKA_SASL_PASSWORD];
  if (isSet(login.KAFKA_SASL_TOKEN_URL) === isSet(login.KAFKA_SASL_AWS_REGION))
    return 'KAFKA_SASL_MECHANISM=oauthbearer takes its tokens from KAFKA_SASL_TOKEN_URL or KAFKA_SASL_AWS_REGION: set one of them';
  if (isSet(login.KAFKA_SASL_TOKEN_URL))
    return client.every(isSet)
      ? undefined
      : 'KAFKA_SASL_USERNAME and KAFKA_SASL_PASSWORD go with KAFKA_SASL_TOKEN_URL: set both';
  return [...client, login.KAFKA_SASL_SCOPE].some(isSet)
    ? 'KAFKA_SASL_USERNAME, KAFKA_SASL_PASSWORD and KAFKA_SASL_SCOPE are not read beside KAFKA_SASL_AWS_REGION: leave them out'
    : undefined;
}

const isSet = (value: string | undefined): boolean => value !== undefined;

function kafkaLoginFault(env: unknown): string | undefined {
  const login = KafkaLogin.safeParse(env).data;
  if (login === undefined) return undefined; // a single variable is wrong, which is reported separately
  const fault = login.KAFKA_SASL_MECHANISM === 'oauthbearer' ? tokenFault(login) : passwordFault(login);
  if (fault !== undefined) return fault;
  if ((login.KAFKA_SSL_CERT === undefined) !== (login.KAFKA_SSL_KEY === undefined))
    return 'KAFKA_SSL_CERT and KAFKA_SSL_KEY go together: set both or none';
  return undefined;
}

/** Arguments for `refine`: the login in an environment with `kafkaEnv` must be complete or absent. */
export const hasKafkaLogin = without(kafkaLoginFault);
