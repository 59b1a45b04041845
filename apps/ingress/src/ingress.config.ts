import { isIP } from 'node:net';
import {
  dedupeEnv,
  duration,
  egressEnv,
  flag,
  integer,
  kafkaEnv,
  keyringEnv,
  processEnv,
  redisEnv,
  tokenEnv,
} from '@relay/config';
import { z } from 'zod';

const namesProxies = (text: string): boolean =>
  /^(?:true|false|\d{1,3})$/.test(text) ||
  text.split(',').every((part) => {
    const [address = '', bits = '0'] = part.trim().split('/');
    return isIP(address) !== 0 && /^\d{1,3}$/.test(bits) && Number(bits) <= (isIP(address) === 4 ? 32 : 128);
  });

/** Environment of the ingress (contract section 7). */
export const IngressEnv = z.object({
  ...processEnv,
  ...kafkaEnv,
  ...redisEnv,
  ...keyringEnv,
  ...tokenEnv,
  // Other addresses are made by putting a path behind it.
  PUBLIC_URL: tokenEnv.PUBLIC_URL.transform((url) => url.replace(/\/+$/, '')),
  ...egressEnv,
  ...dedupeEnv,
  PORT: integer(3000, 0, 65_535).describe('Port for partners and sources.'),
  HEALTH_PORT: integer(3001, 0, 65_535).describe('Port for health and metrics, never shown to partners.'),
  TRUST_PROXY: z
    .string()
    .default('false')
    .refine(namesProxies, 'true, false, a number of hops, or addresses and CIDRs are expected')
    .transform((text) => (text === 'true' ? true : text === 'false' ? false : /^\d+$/.test(text) ? Number(text) : text))
    .describe('Whose `X-Forwarded-For` is believed: true, false, a number of hops, or addresses and CIDRs.'),
  SESSION_TTL: duration('3600s').describe('Lifetime of a session.'),
  LIST_BY_CREDENTIAL: flag(true).describe('Whether webhooks can be listed by a credential without a token.'),
  REQUIRE_AUDIENCE: flag(false).describe('Whether an envelope must name the partners it is for.'),
  MAX_WEBHOOKS_PER_PARTNER: integer(1_000, 1, 1_000_000).describe('Most webhooks one partner may register.'),
});

export type IngressConfig = z.infer<typeof IngressEnv>;

/** Injection token of the process's IngressConfig. */
export const INGRESS_CONFIG = Symbol('IngressConfig');
