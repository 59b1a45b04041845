import { isIP } from 'node:net';
import { z } from 'zod';
import { duration, flag, integer, list, pairs, secret } from './env.js';
import { line, name, places, secureUrl, urlOf, without } from './forms.js';

/**
 * Release of the relay, which is sent as `user-agent: partner-relay/<version>`. A spec checks that package.json has it too.
 */
export const RELAY_VERSION = '0.1.0'; // x-release-please-version

// The variables of docs/configuration.md in groups. The schema of each app spreads the groups that the app needs, so the
// name, default and meaning of a variable are written only once.

export const processEnv = {
  RELAY_ENV: z
    .enum(['development', 'production'])
    .default('production')
    .describe(
      '`development` lets a process make missing topics at its start, and `relay doctor` take for warnings what is a fault in production.',
    ),
  LOG_LEVEL: z
    .enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'])
    .default('info')
    .describe('Least level that is logged.'),
};

const collector = () => urlOf({ scheme: 'http', login: false }).optional();

/** Variables of the OpenTelemetry specification. Their names and meanings are those of the specification. */
export const telemetryEnv = {
  OTEL_EXPORTER_OTLP_ENDPOINT: collector().describe(
    'Collector of spans (OTLP over HTTP) as `http://host:4318`; they go to `/v1/traces` there. Unset: no spans.',
  ),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: collector().describe('Address of the collector with its whole path, instead.'),
  OTEL_EXPORTER_OTLP_PROTOCOL: z
    .enum(['http/protobuf'], { error: 'http/protobuf is expected, which collectors take on port 4318' })
    .default('http/protobuf')
    .describe('How spans are sent.'),
  OTEL_EXPORTER_OTLP_HEADERS: secret(pairs(/^[\x20-\x7e]*$/)).describe(
    'Headers for the collector, such as `authorization=Bearer%20…`, comma separated.',
  ),
  OTEL_TRACES_EXPORTER: z.enum(['otlp', 'none']).default('otlp').describe('`none` sends no spans.'),
  OTEL_SDK_DISABLED: flag(false).describe('Whether no spans are sent, whatever else is set.'),
  OTEL_SERVICE_NAME: line()
    .optional()
    .describe('Name in spans; unset: `partner-relay-ingress`, `partner-relay-worker`.'),
  OTEL_RESOURCE_ATTRIBUTES: pairs(/^/).describe(
    'Attributes of all spans, such as `deployment.environment.name=staging`.',
  ),
  OTEL_TRACES_SAMPLER: z
    .enum([
      'always_on',
      'always_off',
      'traceidratio',
      'parentbased_always_on',
      'parentbased_always_off',
      'parentbased_traceidratio',
    ])
    .default('parentbased_always_on')
    .describe('Which traces are sampled; `parentbased_…`: a sender that has decided is followed.'),
  OTEL_TRACES_SAMPLER_ARG: z
    .string()
    .default('1')
    .transform((text, ctx) => {
      const share = /^\d(?:\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
      if (!(share <= 1)) ctx.addIssue({ code: 'custom', message: 'a number from 0 to 1 is expected' });
      return share;
    })
    .meta({ written: { type: 'number', minimum: 0, maximum: 1 }, values: '0 to 1' })
    .describe('Share of the traces that `traceidratio` samples, from 0 to 1.'),
};
export type TelemetryEnv = z.infer<z.ZodObject<typeof telemetryEnv>>;

export const redisEnv = {
  REDIS_URL: secret(urlOf({ scheme: 'redis', login: true, rest: /^(?:\/\d*)?(?:\?.*)?$/ }).optional()).describe(
    'Redis as a URL, with a percent-encoded password, or give REDIS_SENTINELS or REDIS_CLUSTER_NODES.',
  ),
  REDIS_SENTINELS: places('optional').describe('Sentinels as host:port, comma separated, instead of REDIS_URL.'),
  REDIS_SENTINEL_NAME: name().default('mymaster').describe('Name of the primary at the sentinels.'),
  REDIS_CLUSTER_NODES: places().describe(
    'Some nodes of a Redis Cluster as host:port, comma separated, instead of REDIS_URL. All keys are in one slot of it, or with REDIS_SHARDS in so many more.',
  ),
  REDIS_SHARDS: integer(1, 1, 64).describe(
    'Parts that the state of envelopes is divided into, each in a slot of its own, so that more than one node of a Redis Cluster serves it. All processes have one value. After the first start `relay reshard` changes the number.',
  ),
  REDIS_USERNAME: line().optional().describe('User at the primary, or at every node of a cluster; a URL has its own.'),
  REDIS_PASSWORD: secret(line().optional()).describe(
    'Password at the primary, or at every node of a cluster; a URL has its own.',
  ),
  REDIS_SENTINEL_PASSWORD: secret(line().optional()).describe('Password at the sentinels.'),
  REDIS_TLS: flag(false).describe(
    'Whether the sentinels and the primary they name, or the nodes of a cluster, are reached by TLS; a URL says it by `rediss:`. Authorities beside those of Node: NODE_EXTRA_CA_CERTS.',
  ),
};

const RedisPlace = z.object({
  REDIS_URL: z.string().optional(),
  REDIS_SENTINELS: z.array(z.string()).default([]),
  REDIS_CLUSTER_NODES: z.array(z.string()).default([]),
  REDIS_USERNAME: z.string().optional(),
  REDIS_PASSWORD: z.string().optional(),
  REDIS_TLS: z.boolean().optional(),
});

/**
 * Returns the fault in the address of Redis. A variable that is not used is also a fault, because its login or its
 * encryption would otherwise be missing without notice.
 */
export function redisAddressFault(env: unknown): string | undefined {
  const place = RedisPlace.safeParse(env).data;
  if (place === undefined) return undefined; // a single variable is wrong, which is reported separately
  const { REDIS_URL: url, REDIS_SENTINELS: sentinels, REDIS_CLUSTER_NODES: nodes } = place;
  const given = [
    ...(url === undefined ? [] : ['REDIS_URL']),
    ...(sentinels.length > 0 ? ['REDIS_SENTINELS'] : []),
    ...(nodes.length > 0 ? ['REDIS_CLUSTER_NODES'] : []),
  ];
  if (given.length === 0) return 'None of REDIS_URL, REDIS_SENTINELS and REDIS_CLUSTER_NODES is set';
  if (given.length > 1) return `${given.join(' and ')} are given together: leave one of them`;
  if (url === undefined) return undefined;
  const login = [place.REDIS_USERNAME, place.REDIS_PASSWORD].some((value) => value !== undefined);
  if (login) return 'REDIS_USERNAME and REDIS_PASSWORD are not read beside REDIS_URL: write redis://user:password@host';
  if (place.REDIS_TLS === true && !url.startsWith('rediss:'))
    return 'REDIS_TLS is not read beside REDIS_URL: write rediss://';
  return undefined;
}

/** Arguments for `refine`: an environment with `redisEnv` must contain exactly one address of Redis. */
export const hasRedis = without(redisAddressFault);

export const keyringEnv = {
  ENCRYPTION_KEYS: secret(z.string({ error: 'kid:base64 of 32 bytes is expected' })).describe(
    '`kid:base64,…` of 32 bytes each; the first writes, all read.',
  ),
};

export const tokenEnv = {
  PUBLIC_URL: urlOf({ scheme: 'http', login: false })
    .default('http://localhost:3000')
    .describe('Address under which partners reach the ingress; issuer of the tokens.'),
  JWT_PRIVATE_KEYS: secret(z.string({ error: 'kid:base64 of a PKCS #8 EC P-256 key is expected' })).describe(
    '`kid:base64,…` of PKCS #8 DER EC P-256 keys; the first signs, all verify.',
  ),
  TOKEN_TTL: duration('3600s').describe('Lifetime of an access token.'),
};

const namesProxies = (text: string): boolean =>
  /^(?:true|false|\d{1,3})$/.test(text) ||
  text.split(',').every((part) => {
    const [address = '', bits = '0'] = part.trim().split('/');
    return isIP(address) !== 0 && /^\d{1,3}$/.test(bits) && Number(bits) <= (isIP(address) === 4 ? 32 : 128);
  });

export const httpEnv = {
  TRUST_PROXY: z
    .string()
    .default('false')
    .refine(namesProxies, 'true, false, a number of hops, or addresses and CIDRs are expected')
    .transform((text) => (text === 'true' ? true : text === 'false' ? false : /^\d+$/.test(text) ? Number(text) : text))
    .meta({ written: { type: ['string', 'integer', 'boolean'] } })
    .describe('Proxies whose `X-Forwarded-For` is believed: true, false, a number of hops, or addresses and CIDRs.'),
  MAX_CONNECTIONS: integer(2_000, 1, 1_000_000).describe(
    'Open connections of callers that one process takes; a further one ends the oldest connection without a credential.',
  ),
  MAX_BUFFERED_BYTES: integer(67_108_864, 33_554_432, 1_000_000_000_000).describe(
    'Bytes of bodies and of answers over 4 KiB that one process holds until they are answered or sent; one caller has at most a quarter of them, and gets 503 beyond that.',
  ),
};

export const egressEnv = {
  EGRESS_PORTS: list('443,8443').describe('Ports an endpoint may use.'),
  EGRESS_ALLOW_HTTP: flag(false).describe('Allows plain http endpoints; development only.'),
  EGRESS_ALLOW_CIDRS: list().describe('Address ranges opened although they are not public; development only.'),
  EGRESS_DENY_CIDRS: list().describe('Address ranges closed in addition, such as the cluster’s own.'),
  EGRESS_NAT64_PREFIX: z
    .string()
    .default('')
    .describe(
      'Prefix of the network’s NAT64 (RFC 6052), if it is not `64:ff9b::/96`. Addresses in either are judged by the IPv4 address within, whatever `EGRESS_ALLOW_CIDRS` opens.',
    ),
  KEEP_ENDPOINT_ANSWERS: flag(true).describe(
    'Whether up to 1,024 characters of what an endpoint answered, and some header fields, are kept and shown: for a failed attempt, a test, and of each webhook one good attempt in ten minutes. They are without the webhook’s credential and secrets.',
  ),
  EGRESS_PROXY_URL: secret(urlOf({ scheme: 'http', login: true, rest: /^\/?$/ }).optional()).describe(
    'Proxy for every request to an endpoint, as `http://[user:password@]host:port`. It resolves the names, so it must refuse private addresses itself. No other proxy variable is read.',
  ),
};

export const webhooksEnv = {
  MAX_WEBHOOKS_PER_PARTNER: integer(1_000, 1, 1_000_000).describe('Most webhooks one partner may register.'),
};

/**
 * The default is the recommendation of Standard Webhooks: ten attempts over 75.6 hours, or 90.7 hours if random jitter
 * stretches every wait to its maximum.
 */
export const retryEnv = {
  RETRY_SCHEDULE: z
    .string()
    .default('5s,5m,30m,2h,5h,10h,14h,20h,24h')
    .describe('Waits between attempts; one attempt more than waits.'),
};

export const historyEnv = {
  HISTORY_WINDOW: duration('24h', { from: '1m', to: '30d' }).describe(
    'How long partners can read about a delivery after it was answered 2xx. All processes have one value.',
  ),
};

export const searchEnv = {
  SEARCH_INDEX: z
    .string()
    .default('auto')
    .describe(
      'File of the index of attempts, for this process alone; `auto`: one in the folder for temporary files, named by `OPERATIONS_PORT`; `off`: none, and no attempts can be searched.',
    ),
  SEARCH_WINDOW: duration('8d', { from: '1m', to: '30d' }).describe('How long attempts are in the index.'),
  SEARCH_BYTES: integer(1_073_741_824, 16_777_216, 10_000_000_000_000).describe(
    'Bytes that the index takes before the oldest attempts leave it.',
  ),
};

export const dedupeEnv = {
  DEDUPE_WINDOW: duration('72h').describe(
    'How long an envelope id is remembered at least after it was first seen; at most 29 h longer. All processes have one value.',
  ),
};

const isOrigin = (text: string): boolean => URL.parse(text)?.origin === text && /^https?:/.test(text);

export const portalEnv = {
  PORTAL_LINK_TTL: duration('60s', { from: '1s', to: '24h' }).describe(
    'How long a link to the portal can be opened, once; longer than a minute for development only.',
  ),
};

/** Comma-separated origins such as `https://app.example`, in the form in which browsers send them. */
export const origins = () =>
  list().refine((named) => named.every(isOrigin), 'origins such as https://app.example are expected');

export const sendEnv = {
  PUBLIC_URL: tokenEnv.PUBLIC_URL,
  RELAY_CLIENT_ID: z
    .string()
    .optional()
    .describe('Client id of the source that `relay send` sends as, or of the partner that `relay listen` listens as.'),
  RELAY_CLIENT_SECRET: secret(z.string().optional()).describe('Its client secret.'),
};

export const operationsEnv = {
  OPERATIONS_URL: urlOf({ scheme: 'http', login: false })
    .default('http://localhost:3100')
    .describe('Address of the operations app, for the commands that ask it.'),
  OPERATOR_CLIENT_ID: z.string().optional().describe('Client id of the operator that these commands ask as.'),
  OPERATOR_CLIENT_SECRET: secret(z.string().optional()).describe('Its client secret.'),
};

const valuesFor = (role: string) =>
  list().describe(
    `Values of OIDC_ROLE_CLAIM that give the role \`${role}\`, comma separated. The highest role counts.`,
  );

/** Variables of the sign-in at an identity provider (OpenID Connect Core 1.0). */
export const oidcEnv = {
  CONSOLE_URL: secureUrl()
    .refine((text) => !/[?#]/.test(text), 'what stands behind the host is not expected')
    .transform((url) => url.replace(/\/+$/, ''))
    .optional()
    .meta({ values: '`https://…`' })
    .describe(
      'Address under which browsers reach the console. The identity provider sends people back to `/sign-in/callback` there.',
    ),
  OIDC_ISSUER: secureUrl()
    .optional()
    .meta({ values: '`https://…`' })
    .describe('Issuer of the identity provider at which people sign in to the console; unset: there is none.'),
  OIDC_NAME: line()
    .optional()
    .describe('Name of the provider on the console’s button; unset: the host of OIDC_ISSUER.'),
  OIDC_CLIENT_ID: line().optional().describe('Client id of the console at the provider.'),
  OIDC_CLIENT_SECRET: secret(line().optional()).describe('Its client secret.'),
  OIDC_SCOPES: line()
    .regex(/(^| )openid( |$)/, 'scopes with openid among them are expected')
    .default('openid profile email')
    .describe('Scopes that the console asks for, with spaces between.'),
  OIDC_ROLE_CLAIM: line()
    .default('roles')
    .describe('Claim of the ID token that gives a person a role: a text or a list. Dots lead into objects.'),
  OIDC_VIEWERS: valuesFor('viewer'),
  OIDC_OPERATORS: valuesFor('operator'),
  OIDC_ADMINS: valuesFor('admin'),
};

function oidcFault(env: unknown): string | undefined {
  const given = env as Readonly<Record<string, unknown>>;
  const login = ['OIDC_ISSUER', 'OIDC_CLIENT_ID', 'OIDC_CLIENT_SECRET'].filter((each) => given[each] !== undefined);
  if (login.length === 0) return undefined;
  if (login.length < 3 || given['CONSOLE_URL'] === undefined)
    return 'OIDC_ISSUER, OIDC_CLIENT_ID, OIDC_CLIENT_SECRET and CONSOLE_URL go together: set all four, or none of OIDC_*';
  return [given['OIDC_VIEWERS'], given['OIDC_OPERATORS'], given['OIDC_ADMINS']].flat().length === 0
    ? 'OIDC_VIEWERS, OIDC_OPERATORS and OIDC_ADMINS are all empty: nobody has a role'
    : undefined;
}

/** Arguments for `refine`: an environment with `oidcEnv` names a provider completely, or no provider. */
export const hasOidc = without(oidcFault);
