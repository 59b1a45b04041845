import { PortalAccess, PortalLinkAnswer, PortalLinkRequest } from '@relay/access';
import { operationsOf } from '@relay/openapi';
import { z } from 'zod';

export const PortalTrade = z
  .strictObject({ code: z.string().max(100).describe('What stands behind `#code=` in a link.') })
  .meta({ id: 'PortalTrade', description: 'The code of a link.' });
export type PortalTrade = z.infer<typeof PortalTrade>;

export const PortalRenewal = z
  .strictObject({ handle: z.string().max(200).describe('The `handle` that came with the last token.') })
  .meta({ id: 'PortalRenewal', description: 'The handle of a portal session.' });
export type PortalRenewal = z.infer<typeof PortalRenewal>;

const PortalTokenAnswer = z
  .object({
    token: z.string().describe('For `Authorization: Bearer`, on the operations that name `portal`.'),
    expiresAt: z.iso.datetime(),
    access: PortalAccess,
    webhookIds: z.array(z.guid()).nullable().describe('The only webhooks that are shown; `null` for all.'),
    partnerId: z.string(),
    frames: z.array(z.string()).describe('Origins that may show the portal in a frame.'),
    handle: z
      .string()
      .optional()
      .describe('Renews the session once, by `POST /portal/tokens/renew`; absent if a reload keeps no session.'),
  })
  .meta({ id: 'PortalToken', description: 'A token for the portal.' });
export type PortalTokenAnswer = z.infer<typeof PortalTokenAnswer>;

const CODE = 'q1f9YQ3m0Vt7rXc2uE5wPj8bVh6sLd4fNgTzKoM1iRy';

const HANDLE = 'b8a8a0b5-1d0e-4c1e-9d53-0d2b8f5a8b3e.1.e1.zqN0pJ4rSxk7mT2vWb9cYd3fGh6jKl8nQs1uXyZa0Ee';

export const operations = operationsOf('Portal', {
  createPortalLink: {
    summary: 'Make a link to the portal',
    description:
      'For people at the partner who shall see its webhooks and deliveries without a credential. Your service makes the link when someone asks for it, and sends the browser there. It can be opened once, within `PORTAL_LINK_TTL`, a minute unless the operator says otherwise.',
    body: { isRequired: false, schema: PortalLinkRequest, example: { access: 'write', ttl: 900 } },
    answer: {
      description: 'The link.',
      content: {
        schema: PortalLinkAnswer,
        example: { url: `https://relay.example/portal#code=${CODE}`, expiresAt: '2030-01-01T10:01:00.000Z' },
      },
    },
  },
  tradePortalCode: {
    summary: 'Trade the code of a link for a token',
    description: 'The page of the portal does this. The token ends with the secret that the link was made under.',
    body: { isRequired: true, schema: PortalTrade, example: { code: CODE } },
    answer: { description: 'The token, and what it is good for.', content: { schema: PortalTokenAnswer } },
    problems: ['not-found', 'unavailable'],
  },
  renewPortalToken: {
    summary: 'Renew the session of a reloaded page',
    description:
      'The page of the portal does this when it is loaded again. The answer has the next handle. The new token ends when the first one does. A handle that was replaced more than 30 seconds ago ends the session, because somebody else may have it.',
    body: { isRequired: true, schema: PortalRenewal, example: { handle: HANDLE } },
    answer: { description: 'The token, and the next handle.', content: { schema: PortalTokenAnswer } },
    problems: ['not-found', 'too-many-requests', 'unavailable'],
  },
  endPortalToken: {
    summary: 'Leave the portal',
    description: 'Ends the token that it is sent with and its session, at every process within seconds.',
    answer: { description: 'The token has ended.' },
  },
  readPortal: {
    summary: 'The portal',
    description: 'The page for people. It needs a link of `POST /portal/links`.',
    answer: { description: 'The page.', mediaType: 'text/html; charset=utf-8', content: { schema: z.string() } },
    problems: ['not-found'],
  },
  readPortalFile: {
    summary: 'A file of the portal',
    path: { name: { schema: z.string(), example: 'main-5YTHK2JN.js' } },
    answer: { description: 'Script, style or image.', mediaType: '*/*', content: { schema: z.string() } },
    problems: ['not-found'],
  },
});
