import { parseSigningKeys } from '@relay/access';
import {
  egressEnv,
  keyringEnv,
  readableBy,
  tokenEnv,
  dedupeEnv,
  kafkaEnv,
  operationsEnv,
  processEnv,
  redisEnv,
  sendEnv,
  duration,
  flag,
  hasKafkaLogin,
  hasRedis,
  historyEnv,
  httpEnv,
  integer,
  origins,
  portalEnv,
  telemetryEnv,
  webhooksEnv,
  optionalFlag,
  searchEnv,
  retryEnv,
} from '@relay/config';
import { egressPolicy, type EgressPolicy } from '@relay/egress';
import { Keyring } from '@relay/keyring';
import { z } from 'zod';
import { parseSchedule } from '@relay/retry';

// Groups of @relay/config whose values are checked by the libs that use them, so that a process reports a wrong one at its start.

const NO_EGRESS = { ports: [], allowHttp: false, allowCidrs: [], denyCidrs: [] };
const cidrs = (allowCidrs: readonly string[]): unknown => egressPolicy({ ...NO_EGRESS, allowCidrs });

const checkedKeyringEnv = {
  ENCRYPTION_KEYS: keyringEnv.ENCRYPTION_KEYS.superRefine(readableBy((text: string) => Keyring.parse(text))),
};

const checkedTokenEnv = {
  ...tokenEnv,
  JWT_PRIVATE_KEYS: tokenEnv.JWT_PRIVATE_KEYS.superRefine(readableBy(parseSigningKeys)),
  // The relay appends a path to build its other addresses.
  PUBLIC_URL: tokenEnv.PUBLIC_URL.transform((url) => url.replace(/\/+$/, '')),
};

/** Variables that decide whether the worker delivers to an address. */
const checkedDestinationEnv = {
  EGRESS_ALLOW_HTTP: egressEnv.EGRESS_ALLOW_HTTP,
  EGRESS_PORTS: egressEnv.EGRESS_PORTS.superRefine(readableBy((ports) => egressPolicy({ ...NO_EGRESS, ports }))),
  EGRESS_ALLOW_CIDRS: egressEnv.EGRESS_ALLOW_CIDRS.superRefine(readableBy(cidrs)),
  EGRESS_DENY_CIDRS: egressEnv.EGRESS_DENY_CIDRS.superRefine(readableBy(cidrs)),
  EGRESS_NAT64_PREFIX: egressEnv.EGRESS_NAT64_PREFIX.superRefine(
    readableBy((nat64Prefix: string) => egressPolicy({ ...NO_EGRESS, nat64Prefix })),
  ),
};

const checkedEgressEnv = { ...egressEnv, ...checkedDestinationEnv };

/** All variables of the command line; each command reads only the ones that it needs. */
export const commandLineEnv = {
  RELAY_ENV: processEnv.RELAY_ENV,
  ...kafkaEnv,
  ...redisEnv,
  ...keyringEnv,
  JWT_PRIVATE_KEYS: tokenEnv.JWT_PRIVATE_KEYS,
  ...dedupeEnv,
  ...sendEnv,
  ...operationsEnv,
};

/** Returns the policy of endpoints that partners may register and test, and that the worker may deliver to. */
export const policyOf = (config: z.infer<z.ZodObject<typeof checkedDestinationEnv>>): EgressPolicy =>
  egressPolicy({
    ports: config.EGRESS_PORTS,
    allowHttp: config.EGRESS_ALLOW_HTTP,
    allowCidrs: config.EGRESS_ALLOW_CIDRS,
    denyCidrs: config.EGRESS_DENY_CIDRS,
    nat64Prefix: config.EGRESS_NAT64_PREFIX,
  });

/** Every topic that the relay creates has room for it, and workers report topics that have not. */
export const DEFAULT_ENVELOPE_BYTES = 256 * 1024;

export const IngressEnv = z
  .object({
    ...processEnv,
    ...telemetryEnv,
    ...kafkaEnv,
    ...redisEnv,
    ...checkedKeyringEnv,
    ...checkedTokenEnv,
    ...checkedEgressEnv,
    ...dedupeEnv,
    ...historyEnv,
    PORT: integer(3000, 0, 65_535).describe('Port for partners and sources.'),
    HEALTH_PORT: integer(3001, 0, 65_535).describe('Port for health and metrics, never shown to partners.'),
    ...httpEnv,
    SESSION_TTL: duration('3600s').describe('Lifetime of a session.'),
    SESSIONS_PER_PARTNER: integer(100_000, 1, 100_000_000).describe(
      'Most sessions of one partner at once: 210 bytes of Redis each, 50 for each further one of the same user.',
    ),
    SESSION_RATE_LIMIT: integer(6_000, 1, 1_000_000_000).describe(
      'Sessions a minute that one partner may open, over all processes.',
    ),
    TOKEN_RATE_LIMIT: integer(300, 1, 1_000_000_000).describe(
      'Tokens a minute that one client may fetch, and as many to revoke, over all processes.',
    ),
    INTROSPECTION_RATE_LIMIT: integer(6_000, 1, 1_000_000_000).describe(
      'Tokens a minute that one client may ask about (`/auth/introspect`), over all processes.',
    ),
    VERIFY_ENDPOINTS: flag(false).describe(
      'Whether a webhook that is registered, or gets another URL or credential, is active only once a test delivery was answered 2xx.',
    ),
    LIST_BY_CREDENTIAL: flag(true).describe('Whether webhooks can be listed by a credential without a token.'),
    MAX_ENVELOPE_BYTES: integer(DEFAULT_ENVELOPE_BYTES, 1_024, 921_600).describe(
      'Longest accepted envelope. Above the default, the ingress starts only if every topic that holds envelopes has room for it.',
    ),
    REQUIRE_AUDIENCE: flag(false).describe('Whether an envelope must name the partners it is for.'),
    WEBHOOKS_PER_ORIGIN: integer(20, 1, 1_000_000).describe(
      'Most webhooks of one event type that a partner may have at one origin; existing ones stay.',
    ),
    WEBHOOK_CHANGES: integer(1_000, 1, 1_000_000_000).describe(
      'Changes of its webhooks that one partner may make in 1,000 s, over all processes; the registry keeps each. `RateLimit` tells the rest.',
    ),
    RATE_LIMIT: integer(60_000, 1, 1_000_000_000).describe(
      'Requests a minute that one partner may send to one process; `RateLimit` tells the rest.',
    ),
    LISTEN_STREAMS: integer(50, 1, 10_000).describe('Most streams of `GET /listen` of one process.'),
    ...portalEnv,
    PORTAL_FRAMES: origins().describe(
      'Origins whose pages may show the portal in a frame, with commas between them, such as `https://app.partner.example`; none unless set.',
    ),
    ...webhooksEnv,
  })
  .refine(...hasKafkaLogin)
  .refine(...hasRedis);

export type IngressConfig = z.infer<typeof IngressEnv>;

export const INGRESS_CONFIG = Symbol('IngressConfig');

export const OperationsEnv = z
  .object({
    ...processEnv,
    ...kafkaEnv,
    ...redisEnv,
    ...checkedKeyringEnv,
    ...checkedTokenEnv,
    ...checkedDestinationEnv,
    MAX_EVENT_TYPES: integer(200, 1, 2_000).describe(
      'Most event types that operators may apply, without archived ones: each is a topic with its partitions, and a dead-letter topic.',
    ),
    OPERATIONS_PORT: integer(3100, 0, 65_535).describe('Port of the queue board and of the operator’s API.'),
    OPERATIONS_WRITE: optionalFlag().describe(
      'If not set, operators change what their role permits by the API, and the queue board is read-only. `true`: the board may promote jobs, and pause and resume the queue of deliveries, too. `false`: nothing may be changed.',
    ),
    HEALTH_PORT: integer(3101, 0, 65_535).describe('Port for health and metrics.'),
    CONSOLE_LINKS: flag(false).describe(
      'Whether an operator can make a link that signs in to the console once, within ten minutes; development only. With `true`, the process starts only if `RELAY_ENV` is `development` and `NODE_ENV` is not `production`.',
    ),
    NODE_ENV: z.string().default('').describe('`production`, as the image sets it, refuses `CONSOLE_LINKS`.'),
    ...historyEnv,
    ...searchEnv,
    ...portalEnv,
    ...httpEnv,
  })
  .refine(
    ({ CONSOLE_LINKS, RELAY_ENV, NODE_ENV }) =>
      !CONSOLE_LINKS || (RELAY_ENV === 'development' && NODE_ENV !== 'production'),
    'CONSOLE_LINKS=true is for development: it needs RELAY_ENV=development, and a NODE_ENV other than production',
  )
  .refine(...hasKafkaLogin)
  .refine(...hasRedis);

export type OperationsConfig = z.infer<typeof OperationsEnv>;

export const OPERATIONS_CONFIG = Symbol('OperationsConfig');

export const WorkerEnv = z
  .object({
    ...processEnv,
    ...telemetryEnv,
    ...kafkaEnv,
    ...redisEnv,
    ...checkedKeyringEnv,
    ...checkedEgressEnv,
    RETRY_SCHEDULE: retryEnv.RETRY_SCHEDULE.superRefine(readableBy(parseSchedule)),
    ...dedupeEnv,
    ...historyEnv,
    HEALTH_PORT: integer(3200, 0, 65_535).describe('Port for health and metrics.'),
    DELIVERY_TIMEOUT: duration('15s', { to: '5m' }).describe('Total deadline of one attempt, at most 5m.'),
    DELIVERY_CONCURRENCY: integer(512, 1, 100_000).describe(
      'Attempts one worker makes at once; deliveries from the queue may be half of them. Attempts that hang beyond a quarter do not count, up to as many again.',
    ),
    QUEUE_LIMIT: integer(100_000, 1, 100_000_000).describe(
      'Queued deliveries above which no further records are read; they wait in the log. Resumes at 80 %.',
    ),
    WEBHOOK_QUEUE_LIMIT: integer(1_000, 1, 1_000_000).describe(
      'Waiting deliveries of a webhook above which further ones wait in the log; ten times as many, or 32 MiB, for all webhooks of a partner.',
    ),
    REGISTRY_SNAPSHOT_AFTER: integer(10_000, 10, 100_000_000).describe(
      'Changes of clients and webhooks, at least four for each of them, after which a snapshot replaces the older ones.',
    ),
    ENDPOINT_CONCURRENCY: integer(64, 1, 10_000).describe('Attempts one worker makes at once to one endpoint.'),
  })
  .refine(...hasKafkaLogin)
  .refine(...hasRedis);

export type WorkerConfig = z.infer<typeof WorkerEnv>;

/** Returns the longest time of an attempt, in ms. The claim of a breaker's probe lasts longer than that. */
export const longestAttemptMs = ({ DELIVERY_TIMEOUT }: WorkerConfig): number => DELIVERY_TIMEOUT;
