import { PortalAccess } from '@relay/access';
import { z } from 'zod';

export const PortalTrade = z
  .strictObject({ code: z.string().max(100).describe('What stands behind `#code=` in a link.') })
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
