import { PortalAccess } from '@relay/access';
import { WebhookId } from '@relay/webhooks';
import { z } from 'zod';

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
      .array(WebhookId)
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

export const PortalTrade = z
  .object({ code: z.string().max(100).describe('What stands behind `#code=` in a link.') })
  .meta({ id: 'PortalTrade', description: 'The code of a link.' });
export type PortalTrade = z.infer<typeof PortalTrade>;

export const PortalTokenAnswer = z
  .object({
    token: z.string().describe('For `Authorization: Bearer`, on the operations that name `portal`.'),
    expiresAt: z.iso.datetime(),
    access: PortalAccess,
    webhookIds: z.array(z.guid()).nullable().describe('The only webhooks that are shown; `null` for all.'),
    partnerId: z.string(),
    frames: z.array(z.string()).describe('Origins that may show the portal in a frame.'),
  })
  .meta({ id: 'PortalToken', description: 'A token for the portal.' });
export type PortalTokenAnswer = z.infer<typeof PortalTokenAnswer>;
