import { Controller, Delete, Header, HttpCode, Inject, Post, Req, Res, UseInterceptors } from '@nestjs/common';
import {
  PortalLinkRequest,
  PortalLinks,
  portalLinkOf,
  portalUrl,
  readBearer,
  type PortalLinkAnswer,
} from '@relay/access';
import {
  Access,
  callerIdOf,
  callerOf,
  Portal,
  RateLimitInterceptor,
  SharedQuota,
  StrictBody,
  TakesBody,
  type Body,
  type FastifyReply,
  type FastifyRequest,
} from '@relay/http';
import { Operation } from '@relay/openapi';
import { INGRESS_CONFIG, type IngressConfig } from '@relay/settings';
import { PartnerAudit } from '../access/partner-audit.js';
import { PortalTrade, type PortalTokenAnswer } from './portal-request.js';
import { PortalTokens } from './portal-tokens.js';
import { createPortalLink, endPortalToken, tradePortalCode } from './portal.openapi.js';

/** The ways into the portal, and out of it. */
@Controller('portal')
@Access({ kind: 'bearer', scopes: ['webhooks'] })
export class PortalController {
  constructor(
    private readonly links: PortalLinks,
    private readonly tokens: PortalTokens,
    private readonly quota: SharedQuota,
    private readonly audit: PartnerAudit,
    @Inject(INGRESS_CONFIG) private readonly config: IngressConfig,
  ) {}

  @Post('links')
  @UseInterceptors(RateLimitInterceptor)
  @Operation(createPortalLink)
  async link(
    @StrictBody(PortalLinkRequest, 'optional') body: Body<PortalLinkRequest>,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<PortalLinkAnswer> {
    const partnerId = callerIdOf(request);
    await this.quota.admit(partnerId, reply, 'You have made too many links: wait.');
    const wanted = body();
    const { access, webhookIds } = wanted;
    this.audit.tellLink(request, { access, webhookIds });
    const expiresAt = new Date(Date.now() + this.config.PORTAL_LINK_TTL).toISOString();
    const code = await this.links.create(portalLinkOf(partnerId, wanted, callerOf(request)));
    return { url: portalUrl(this.config.PUBLIC_URL, code, wanted.next), expiresAt };
  }

  @Post('tokens')
  @HttpCode(200)
  @Header('pragma', 'no-cache') // RFC 6749 section 5.1
  @Access({ kind: 'public' })
  @TakesBody({ maxBytes: 1_024 })
  @Operation(tradePortalCode)
  async trade(@StrictBody(PortalTrade) body: Body<PortalTrade>): Promise<PortalTokenAnswer> {
    return { ...(await this.tokens.trade(body().code)), frames: this.config.PORTAL_FRAMES };
  }

  @Delete('tokens')
  @HttpCode(204)
  @Portal('read')
  @UseInterceptors(RateLimitInterceptor)
  @Operation(endPortalToken)
  async leave(@Req() request: FastifyRequest): Promise<void> {
    await this.tokens.end(readBearer(request.headers.authorization) ?? '');
  }
}
