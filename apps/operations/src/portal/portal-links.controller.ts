import { Controller, Inject, Post, Req } from '@nestjs/common';
import { PortalLinkAnswer, PortalLinkRequest, PortalLinks, portalLinkOf, portalUrl, roleToGrant } from '@relay/access';
import { Audit } from '@relay/audit';
import { Access, callerOf, StrictBody, type Body, type FastifyRequest } from '@relay/http';
import { ProblemError } from '@relay/problem';
import { OPERATIONS_CONFIG, type OperationsConfig } from '@relay/settings';
import { z } from 'zod';
import { actorOf, assertRole } from '../access/role.js';
import { ClientDesk } from '../clients/client-desk.adapter.js';
import { answerOf, textsOf } from '../http/routes.js';

const Text = textsOf('Clients');

const OperatorsLinkRequest = PortalLinkRequest.extend({
  partnerId: z.string().max(100).describe('Client id of the partner.'),
}).meta({ id: 'OperatorsPortalLinkRequest', description: 'Whom a link lets in, and where.' });

/** Links of operators to the portal of a partner. */
@Controller('portal')
@Access({ kind: 'operator', role: 'operator' })
export class PortalLinksController {
  constructor(
    private readonly links: PortalLinks,
    private readonly desk: ClientDesk,
    private readonly audit: Audit,
    @Inject(OPERATIONS_CONFIG) private readonly config: OperationsConfig,
  ) {}

  @Post('links')
  @Text('createPortalLink', 'Make a link to the portal of a partner', {
    description:
      'It can be opened once, within `PORTAL_LINK_TTL`. `write` needs the role `admin`, since whoever opens it acts as the partner. `relay.operations` tells who made it, and names that operator with all that is done by it. It ends with the secret of that operator, when the operator is disabled, or without the role.',
    body: { isRequired: true, schema: OperatorsLinkRequest, example: { partnerId: 'partner_0Zt1', access: 'read' } },
    answer: answerOf('The link.', PortalLinkAnswer),
    problems: ['not-found', 'conflict'],
  })
  async create(
    @StrictBody(OperatorsLinkRequest) body: Body<z.infer<typeof OperatorsLinkRequest>>,
    @Req() request: FastifyRequest,
  ): Promise<PortalLinkAnswer> {
    const { partnerId, ...wanted } = body();
    const { access, webhookIds } = wanted;
    const caller = callerOf(request);
    assertRole(caller.scopes, roleToGrant(access));
    const { kind } = await this.desk.find(partnerId);
    if (kind !== 'partner') throw new ProblemError('conflict', 'Only partners have a portal.');
    await this.audit.report({ event: 'portal.opened', ...actorOf(request), partnerId, access, webhookIds });
    const expiresAt = new Date(Date.now() + this.config.PORTAL_LINK_TTL).toISOString();
    const code = await this.links.create(portalLinkOf(partnerId, PortalLinkRequest.parse(wanted), caller));
    return { url: portalUrl(this.config.PUBLIC_URL, code, wanted.next), expiresAt };
  }
}
