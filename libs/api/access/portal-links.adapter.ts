import { createHash } from 'node:crypto';
import { globalKey } from '@relay/redis';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import type { Caller } from './callers.guard.js';
import { PortalGrant, PortalAccess } from './access-tokens.js';

export const PortalLink = z.object({
  partnerId: z.string(),
  /**
   * Generation of the partner's secret when the partner made the link. The link ends with that secret. Undefined for an
   * operator's link.
   */
  generation: z.int().optional(),
  grant: PortalGrant,
  /** Lifetime in seconds of the token that is issued in exchange for the code. */
  ttlS: z.int(),
});
export type PortalLink = z.infer<typeof PortalLink>;

/** The codes of links of one kind. Each code can be exchanged once. Redis stores only hashes of the codes. */
export class OneTimeCodes<Link> {
  constructor(
    private readonly redis: Pick<Redis, 'set' | 'getdel'>,
    private readonly random: (bytes: number) => Buffer,
    private readonly kind: {
      /** Parts of the names of the keys. */
      readonly key: readonly string[];
      readonly schema: z.ZodType<Link>;
      /** Time in ms for which a code can be exchanged. */
      readonly ttlMs: number;
    },
  ) {}

  /** Creates and stores a code of 256 random bits. */
  async create(link: Link): Promise<string> {
    const code = this.random(32).toString('base64url');
    await this.redis.set(this.#keyOf(code), JSON.stringify(link), 'PX', this.kind.ttlMs);
    return code;
  }

  /**
   * Returns the link of a code and deletes the code. Returns undefined if the code is unknown, already exchanged or expired.
   */
  async take(code: string): Promise<Link | undefined> {
    const stored = await this.redis.getdel(this.#keyOf(code));
    return stored === null ? undefined : this.kind.schema.parse(JSON.parse(stored));
  }

  #keyOf(code: string): string {
    return globalKey(...this.kind.key, createHash('sha256').update(code).digest('base64url'));
  }
}

/** The codes of portal links. Each can be exchanged for a token. */
export class PortalLinks extends OneTimeCodes<PortalLink> {
  constructor(redis: Pick<Redis, 'set' | 'getdel'>, random: (bytes: number) => Buffer, ttlMs: number) {
    super(redis, random, { key: ['portal'], schema: PortalLink, ttlMs });
  }
}

const MOST_S = 900;
const MOST_WEBHOOKS = 100;
/** A page of the portal, as it is written after `#` in an address. */
const PLACE = /^\/[\w/?=&%.:,+-]{0,500}$/;

export const PortalLinkRequest = z
  .strictObject({
    ttl: z
      .int()
      .min(60)
      .max(MOST_S)
      .default(MOST_S)
      .describe(`How long whoever opens the link stays in, in seconds: 60 to ${MOST_S}.`),
    access: PortalAccess.default('read').describe('`read`: to look. `write`: to change, retry and replay as well.'),
    webhookIds: z
      .array(z.guid().toLowerCase())
      .min(1)
      .max(MOST_WEBHOOKS)
      .optional()
      .describe(`The only webhooks that are shown, up to ${MOST_WEBHOOKS}; none can be added then.`),
    next: z
      .string()
      .regex(PLACE, 'a place of the portal such as /deliveries?status=dead is expected')
      .optional()
      .describe('Where the portal opens, such as `/deliveries?status=dead`.'),
  })
  .meta({ id: 'PortalLinkRequest', description: 'Whom a link lets in, and where.' });
export type PortalLinkRequest = z.infer<typeof PortalLinkRequest>;

export const PortalLinkAnswer = z
  .object({
    url: z.string().describe('Opens the portal, once. The code is behind `#`, which browsers send to no server.'),
    expiresAt: z.iso.datetime().describe('Until when it can be opened.'),
  })
  .meta({ id: 'PortalLink', description: 'A link to the portal.' });
export type PortalLinkAnswer = z.infer<typeof PortalLinkAnswer>;

/** Returns the link that a partner or an operator has requested. */
export function portalLinkOf(
  partnerId: string,
  { ttl: ttlS, access, webhookIds }: PortalLinkRequest,
  { clientId, generation = 0 }: Pick<Caller, 'clientId' | 'generation'>,
): PortalLink {
  const grant: PortalGrant = { access, ...(webhookIds === undefined ? {} : { webhookIds }) };
  if (clientId === partnerId) return { partnerId, generation, grant, ttlS };
  return { partnerId, grant: { ...grant, operator: { clientId, generation } }, ttlS };
}

/** Returns the URL of a link. The code is in the fragment, which browsers send neither in a request nor in a referrer. */
export const portalUrl = (publicUrl: string, code: string, next: string | undefined): string =>
  `${publicUrl}/portal#code=${code}${next === undefined ? '' : `&next=${encodeURIComponent(next)}`}`;
