import { randomBytes, randomUUID } from 'node:crypto';
import { Delete, Get, HttpCode, Inject, Post, Put, Req, Res } from '@nestjs/common';
import type { EgressPolicy } from '@relay/egress';
import { Access, callerIdOf, HasVersions, IgnoresUnknown, linkToNext, Portal, readIfMatch, readQuery, StrictBody, Waits, type Body, type FastifyReply, type FastifyRequest } from '@relay/http';
import { Operation } from '@relay/openapi';
import { ProblemError } from '@relay/problem';
import { INGRESS_CONFIG, policyOf, type IngressConfig } from '@relay/settings';
import { credentialOf, DeleteInput, ListInput, newSigningSecret, WebhookInput, WebhookStore, WebhookUpdate, type WebhookRecord, type WebhookReference } from '@relay/webhooks';
import { PartnerAudit, PartnerRoutes, publicPath } from '../access/partner-routes.js';
import { EndpointVerification } from './endpoint-verification.js';
import { CredentialPartners, Listings, ListQuery } from './listings.js';
import { TestDeliveries, type DraftTestResult } from './test-deliveries.js';
import { crowdedOrigin, draftOf, notFound, several, staleVersion, taken } from './webhook-problems.js';
import { operations } from './webhooks.openapi.js';

/** The webhooks of a partner. A webhook of another partner is not found, like one that does not exist. */
@PartnerRoutes('webhooks')
export class WebhooksController {
  readonly #policy: EgressPolicy;

  constructor(
    private readonly webhooks: WebhookStore,
    private readonly listings: Listings,
    private readonly partners: CredentialPartners,
    private readonly verification: EndpointVerification,
    @Inject(INGRESS_CONFIG) private readonly config: IngressConfig,
  ) {
    this.#policy = policyOf(config);
  }

  @Get()
  @Operation(operations.listWebhooks)
  @Access({ kind: 'listing', scopes: ['webhooks'] })
  async list(
    @StrictBody(ListInput, 'optional') body: Body<ListInput>,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<readonly WebhookRecord[]> {
    const query = readQuery(ListQuery, request.query);
    const credential = credentialOf(body());
    const partnerId = request.caller?.clientId ?? (await this.partners.partnerOf(credential, request.ip));
    const { eventType, limit, cursor } = query;
    const page = await this.listings.read(partnerId, { eventType, credential, limit, after: cursor });
    await this.listings.charge(request, reply, page.read);
    linkToNext(request, reply, page.next, { publicUrl: this.config.PUBLIC_URL });
    return page.records;
  }

  @Post()
  @IgnoresUnknown()
  @Portal('register')
  @Operation(operations.registerWebhook)
  async register(
    @StrictBody(WebhookInput) body: Body<WebhookInput>,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<WebhookReference> {
    const draft = draftOf(body(), this.#policy);
    const result = await this.webhooks.register(callerIdOf(request), draft);
    if (result.kind === 'exists') throw taken(result.id);
    if (result.kind === 'limit')
      throw new ProblemError('conflict', `A partner has at most ${this.config.MAX_WEBHOOKS_PER_PARTNER} webhooks.`);
    if (result.kind === 'origin-limit') throw crowdedOrigin(this.config.WEBHOOKS_PER_ORIGIN);
    void reply.header('location', `${publicPath(this.config)}/webhooks/${result.id}`);
    this.verification.begin(callerIdOf(request), result.id);
    return { id: result.id };
  }

  @Put()
  @HasVersions()
  @IgnoresUnknown()
  @Operation(operations.updateWebhook)
  async update(
    @StrictBody(WebhookUpdate) body: Body<WebhookUpdate>,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<WebhookReference> {
    const { id, ...draft } = draftOf(body(), this.#policy);
    const result = await this.webhooks.update(callerIdOf(request), draft, id, readIfMatch(request.headers['if-match']));
    if (result.kind === 'not-found') throw notFound();
    if (result.kind === 'stale') throw staleVersion();
    if (result.kind === 'ambiguous') {
      await this.listings.charge(request, reply, result.ids.length);
      throw several(result.ids);
    }
    if (result.kind === 'exists') throw taken(result.id);
    if (result.kind === 'origin-limit') throw crowdedOrigin(this.config.WEBHOOKS_PER_ORIGIN);
    this.verification.begin(callerIdOf(request), result.id);
    return { id: result.id };
  }

  @Delete()
  @HasVersions()
  @IgnoresUnknown()
  @Operation(operations.deleteWebhook)
  async delete(
    @StrictBody(DeleteInput) body: Body<DeleteInput>,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<WebhookReference> {
    const { eventType, id } = body();
    const result = await this.webhooks.delete(
      callerIdOf(request),
      eventType,
      id,
      readIfMatch(request.headers['if-match']),
    );
    if (result.kind === 'not-found') throw notFound();
    if (result.kind === 'stale') throw staleVersion();
    if (result.kind === 'ambiguous') {
      await this.listings.charge(request, reply, result.ids.length);
      throw several(result.ids);
    }
    return { id: result.id };
  }
}

/** Tests an endpoint before its webhook is registered. Nothing of the registration is kept. */
@PartnerRoutes('webhooks/test')
export class DraftTestController {
  readonly #policy: EgressPolicy;

  constructor(
    private readonly tests: TestDeliveries,
    private readonly audit: PartnerAudit,
    @Inject(INGRESS_CONFIG) config: IngressConfig,
  ) {
    this.#policy = policyOf(config);
  }

  @Post()
  @IgnoresUnknown()
  @Portal('register')
  @Waits()
  @HttpCode(200)
  @Operation(operations.testDraft)
  async test(
    @StrictBody(WebhookInput) body: Body<WebhookInput>,
    @Req() request: FastifyRequest,
  ): Promise<DraftTestResult> {
    const draft = draftOf(body(), this.#policy);
    const credential = credentialOf(draft);
    if (credential === undefined) throw new TypeError('A webhook without a credential passed validation');
    const partnerId = callerIdOf(request);
    const secret = newSigningSecret(randomBytes(32));
    const { eventType, origin } = draft;
    await this.audit.reportOperator(request, 'webhook.tested', { eventType, origin });
    const result = await this.tests.sendDraft({
      id: randomUUID(),
      partnerId,
      eventType,
      url: draft.url,
      endpoint: `${partnerId} ${origin}`,
      opened: () => Promise.resolve({ credential: () => credential, secrets: () => [secret] }),
    });
    return { ...result, secret };
  }
}
