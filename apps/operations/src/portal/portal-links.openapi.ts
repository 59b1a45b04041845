import { PortalLinkAnswer, PortalLinkRequest } from '@relay/access';
import type { OperationText } from '@relay/openapi';
import { z } from 'zod';

export const OperatorsLinkRequest = PortalLinkRequest.extend({
  partnerId: z.string().max(100).describe('Client id of the partner.'),
}).meta({ id: 'OperatorsPortalLinkRequest', description: 'Whom a link lets in, and where.' });

export const createPortalLink: OperationText = {
  id: 'createPortalLink',
  tag: 'Clients',
  summary: 'Make a link to the portal of a partner',
  description:
    'It can be opened once, within `PORTAL_LINK_TTL`. `write` needs the role `admin`, since whoever opens it acts as the partner. `relay.operations` tells who made it, and names that operator with all that is done by it. It ends with the secret of that operator, when the operator is disabled, or without the role.',
  body: { isRequired: true, schema: OperatorsLinkRequest, example: { partnerId: 'partner_0Zt1', access: 'read' } },
  answer: { description: 'The link.', content: { schema: PortalLinkAnswer } },
  problems: ['not-found', 'conflict'],
};
