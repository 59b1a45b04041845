import { Controller, Inject, Post, Req } from '@nestjs/common';
import {
  PortalLinkRequest,
  PortalLinks,
  portalLinkOf,
  portalUrl,
  roleToGrant,
  type PortalLinkAnswer,
} from '@relay/access';
import { Audit } from '@relay/audit';
import { Access, callerOf, StrictBody, type Body, type FastifyRequest } from '@relay/http';
import { Operation } from '@relay/openapi';
import { ProblemError } from '@relay/problem';
import { OPERATIONS_CONFIG, type OperationsConfig } from '@relay/settings';
import type { z } from 'zod';
import { assertRole } from '../access/role.js';
import { ClientDesk } from '../clients/client-desk.adapter.js';
import { createPortalLink, OperatorsLinkRequest } from './portal-links.openapi.js';

/** Links by which operators let people into the portal of a partner. */
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
  @Operation(createPortalLink)
  async create(
    @StrictBody(OperatorsLinkRequest) body: Body<z.infer<typeof OperatorsLinkRequest>>,
    @Req() request: FastifyRequest,
  ): Promise<PortalLinkAnswer> {
    const { partnerId, ...wanted } = body();
    const { access, webhookIds } = wanted;
    const caller = callerOf(request);
    const { clientId: operator, scopes } = caller;
    assertRole(scopes, roleToGrant(access));
    const { kind } = await this.desk.find(partnerId);
    if (kind !== 'partner') throw new ProblemError('conflict', 'Only partners have a portal.');
    const by = { operator, requestId: request.id, partnerId };
    await this.audit.report({ event: 'portal.opened', ...by, access, webhookIds });
    const expiresAt = new Date(Date.now() + this.config.PORTAL_LINK_TTL).toISOString();
    const code = await this.links.create(portalLinkOf(partnerId, PortalLinkRequest.parse(wanted), caller));
    return { url: portalUrl(this.config.PUBLIC_URL, code, wanted.next), expiresAt };
  }
}
