import { z } from 'zod';
import type { Caller } from './caller.js';
import { PortalAccess, type PortalGrant } from './portal-grant.js';
import type { PortalLink } from './portal-links.adapter.js';

const MOST_S = 900;
const MOST_WEBHOOKS = 100;
/** A place of the portal, as its address has it after `#`. */
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

/** What a requested link opens. @param maker the partner, or an operator */
export function portalLinkOf(
  partnerId: string,
  { ttl: ttlS, access, webhookIds }: PortalLinkRequest,
  { clientId, generation = 0 }: Pick<Caller, 'clientId' | 'generation'>,
): PortalLink {
  const grant: PortalGrant = { access, ...(webhookIds === undefined ? {} : { webhookIds }) };
  if (clientId === partnerId) return { partnerId, generation, grant, ttlS };
  return { partnerId, grant: { ...grant, operator: { clientId, generation } }, ttlS };
}

/** The address of a link. The code is in the fragment, which a browser sends to no server and in no referrer. */
export const portalUrl = (publicUrl: string, code: string, next: string | undefined): string =>
  `${publicUrl}/portal#code=${code}${next === undefined ? '' : `&next=${encodeURIComponent(next)}`}`;
