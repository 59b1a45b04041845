import {
  dedupeEnv,
  duration,
  flag,
  hasKafkaLogin,
  hasRedis,
  historyEnv,
  httpEnv,
  integer,
  kafkaEnv,
  origins,
  portalEnv,
  processEnv,
  redisEnv,
  telemetryEnv,
  webhooksEnv,
} from '@relay/config';
import { z } from 'zod';
import { checkedEgressEnv, checkedKeyringEnv, checkedTokenEnv } from './checked-groups.js';

/** Environment of the ingress. */
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

/** Injection token of the process's IngressConfig. */
export const INGRESS_CONFIG = Symbol('IngressConfig');
