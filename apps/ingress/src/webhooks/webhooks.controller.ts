import { randomBytes, randomUUID } from 'node:crypto';
import { Delete, Get, HttpCode, Inject, Param, Patch, Post, Put, Req } from '@nestjs/common';
import {
  Access,
  callerIdOf,
  callerOf,
  etagOf,
  HasVersions,
  IgnoresUnknown,
  linkToNext,
  Portal,
  readIfMatch,
  readQuery,
  StrictBody,
  Waits,
  type Body,
  type FastifyReply,
  type FastifyRequest,
} from '@relay/http';
import { Operation } from '@relay/openapi';
import { ProblemError } from '@relay/problem';
import { INGRESS_CONFIG, type IngressConfig } from '@relay/settings';
import {
  credentialOf,
  DeleteInput,
  ListInput,
  namedAttributes,
  newSigningSecret,
  patchFaults,
  WebhookId,
  WebhookInput,
  WebhookPatch,
  WebhookStore,
  WebhookUpdate,
  type RegisteredWebhook,
  type SigningSecret,
  type WebhookDetails,
  type WebhookRecord,
  type WebhookReference,
} from '@relay/webhooks';
import { Changes, Exchange, PartnerAudit, PartnerRoutes, publicPath, Reads } from '../access/partner-routes.js';
import { CredentialPartners, Listings, ListQuery } from './listings.js';
import { EndpointVerification, TestDeliveries, type DraftTestResult, type TestResult } from './test-deliveries.js';
import {
  assertVisible,
  crowdedOrigin,
  destinationOf,
  draftOf,
  isShown,
  notFound,
  ownWebhook,
  staleVersion,
  taken,
  unverified,
  WebhookWaiting,
} from './webhook-problems.js';
import { operations } from './webhooks.openapi.js';

/** Routes for the webhooks of a partner. A webhook of another partner is answered like an unknown one. */
@PartnerRoutes('webhooks')
export class WebhooksController {
  constructor(
    private readonly webhooks: WebhookStore,
    private readonly listings: Listings,
    private readonly partners: CredentialPartners,
    private readonly verification: EndpointVerification,
    @Inject(INGRESS_CONFIG) private readonly config: IngressConfig,
  ) {}

  @Get()
  @Operation(operations.listWebhooks)
  @Access({ kind: 'listing', scopes: ['webhooks'] })
  async list(
    @StrictBody(ListInput, 'optional') body: Body<ListInput>,
    @Exchange() { request, reply }: Exchange,
  ): Promise<readonly WebhookRecord[]> {
    const { eventType, limit, cursor } = readQuery(ListQuery, request.query);
    const credential = credentialOf(body());
    const partnerId = request.caller?.clientId ?? (await this.partners.partnerOf(credential, request.ip));
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
    @Exchange() { request, reply }: Exchange,
  ): Promise<WebhookReference> {
    const draft = draftOf(body(), this.config);
    assertVisible(draft.eventType, callerIdOf(request));
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
    @Exchange() { request, reply }: Exchange,
  ): Promise<WebhookReference> {
    const { id, ...draft } = draftOf(body(), this.config);
    const result = await this.webhooks.update(callerIdOf(request), draft, id, versionsOf(request));
    if (result.kind === 'not-found') throw notFound();
    if (result.kind === 'stale') throw staleVersion();
    if (result.kind === 'ambiguous') throw await this.#several(request, reply, result.ids);
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
    @Exchange() { request, reply }: Exchange,
  ): Promise<WebhookReference> {
    const { eventType, id } = body();
    const result = await this.webhooks.delete(callerIdOf(request), eventType, id, versionsOf(request));
    if (result.kind === 'not-found') throw notFound();
    if (result.kind === 'stale') throw staleVersion();
    if (result.kind === 'ambiguous') throw await this.#several(request, reply, result.ids);
    return { id: result.id };
  }

  async #several(request: FastifyRequest, reply: FastifyReply, ids: readonly string[]): Promise<ProblemError> {
    await this.listings.charge(request, reply, ids.length);
    return new ProblemError('conflict', 'You have several webhooks of this eventType: name the id.', {
      members: { ids },
    });
  }
}

/** A route that tests an endpoint before its webhook is registered. The relay does not store the registration. */
@PartnerRoutes('webhooks/test')
export class DraftTestController {
  constructor(
    private readonly tests: TestDeliveries,
    private readonly audit: PartnerAudit,
    @Inject(INGRESS_CONFIG) private readonly config: IngressConfig,
  ) {}

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
    const draft = draftOf(body(), this.config);
    const credential = credentialOf(draft);
    if (credential === undefined) throw new TypeError('A webhook without a credential passed validation');
    const partnerId = callerIdOf(request);
    assertVisible(draft.eventType, partnerId);
    const secret = newSigningSecret(randomBytes(32));
    const { eventType, origin } = draft;
    await this.audit.reportOperator(request, 'webhook.tested', { eventType, origin });
    const result = await this.tests.sendDraft({
      id: randomUUID(),
      partnerId,
      eventType,
      url: draft.url,
      endpoint: `${partnerId} ${origin}`,
      opened: async () => ({ ...namedAttributes(draft), credential: () => credential, secrets: () => [secret] }),
    });
    return { ...result, secret };
  }
}

@PartnerRoutes('webhooks/:id')
export class WebhookController {
  constructor(
    private readonly webhooks: WebhookStore,
    private readonly waiting: WebhookWaiting,
    private readonly verification: EndpointVerification,
    private readonly audit: PartnerAudit,
    @Inject(INGRESS_CONFIG) private readonly config: IngressConfig,
  ) {}

  @Get()
  @Reads(operations.readWebhook)
  async read(@Param('id') id: string, @Exchange() { request, reply }: Exchange): Promise<WebhookDetails> {
    const found = await ownWebhook(this.webhooks, callerIdOf(request), id);
    void reply.header('etag', etagOf(found.version));
    return this.#shown(found.details);
  }

  @Patch()
  @Changes(operations.patchWebhook)
  async change(
    @Param('id') given: string,
    @StrictBody(WebhookPatch) body: Body<WebhookPatch>,
    @Exchange() { request, reply }: Exchange,
  ): Promise<WebhookDetails> {
    const id = readId(given);
    const patch = this.#permitted(body());
    const ifVersions = versionsOf(request);
    const found = await ownWebhook(this.webhooks, callerIdOf(request), id);
    if (ifVersions?.includes(found.version) === false) throw staleVersion();
    const faults = patchFaults(patch, await this.#shown(found.details));
    if (faults.length > 0)
      throw new ProblemError('invalid-body', 'A patch cannot change these members.', { errors: faults });
    const result = await this.webhooks.patch(callerIdOf(request), id, patch, ifVersions);
    if (result.kind === 'exists') throw taken(isShown(callerOf(request), result.id) ? result.id : undefined);
    if (result.kind === 'stale') throw staleVersion();
    if (result.kind === 'origin-limit') throw crowdedOrigin(this.config.WEBHOOKS_PER_ORIGIN);
    const read = await this.read(id, { request, reply });
    this.verification.begin(callerIdOf(request), id);
    return read;
  }

  @Delete()
  @Changes(operations.removeWebhook, 204)
  async remove(@Param('id') given: string, @Req() request: FastifyRequest): Promise<void> {
    const id = readId(given);
    const { kind } = await this.webhooks.remove(callerIdOf(request), id, versionsOf(request));
    if (kind === 'stale') throw staleVersion();
    if (kind === 'not-found') throw notFound();
  }

  @Get('secret')
  @Portal('write')
  @Operation(operations.readWebhookSecret)
  async secret(@Param('id') id: string, @Req() request: FastifyRequest): Promise<SigningSecret> {
    const webhookId = readId(id);
    const secret = await this.webhooks.signingSecret(callerIdOf(request), webhookId);
    if (secret === undefined) throw notFound();
    await this.audit.reportAction(request, 'secret.read', { webhookId });
    return { secret };
  }

  @Post('secret/rotate')
  @Changes(operations.rotateWebhookSecret)
  async rotate(@Param('id') id: string, @Req() request: FastifyRequest): Promise<SigningSecret> {
    const webhookId = readId(id);
    const rotated = await this.webhooks.rotateSecret(callerIdOf(request), webhookId, versionsOf(request));
    if (rotated.kind === 'not-found') throw notFound();
    if (rotated.kind === 'stale') throw staleVersion();
    // A repeated rotation changes nothing, but its answer contains the secret too.
    await this.audit.reportAction(request, 'secret.read', { webhookId });
    return { secret: rotated.secret };
  }

  @Post('enable')
  @Changes(operations.enableWebhook)
  async enable(@Param('id') given: string, @Exchange() { request, reply }: Exchange): Promise<WebhookDetails> {
    const id = readId(given);
    const outcome = await this.verification.enable(callerIdOf(request), id, versionsOf(request));
    if (outcome === 'not-found') throw notFound();
    if (outcome === 'stale') throw staleVersion();
    if (outcome === 'operator')
      throw new ProblemError(
        'conflict',
        'An operator of the relay disabled this webhook: only an operator enables it.',
      );
    if (outcome !== 'enabled') throw unverified(outcome);
    return this.read(id, { request, reply });
  }

  @Post('disable')
  @Changes(operations.disableWebhook)
  async disable(@Param('id') given: string, @Exchange() { request, reply }: Exchange): Promise<WebhookDetails> {
    const id = readId(given);
    const { kind } = await this.webhooks.disable(callerIdOf(request), id, 'partner', versionsOf(request));
    if (kind === 'not-found') throw notFound();
    // If the version is the wanted one, `stale` means that the webhook is already disabled. The webhook then keeps its
    // reason, so an unverified webhook stays unverified.
    if (kind === 'stale') await this.#assertVersion(request, id);
    return this.read(id, { request, reply });
  }

  @Post('test')
  @Waits()
  @Changes(operations.testWebhook)
  async test(@Param('id') id: string, @Req() request: FastifyRequest): Promise<TestResult> {
    const webhookId = readId(id);
    await this.#assertVersion(request, webhookId);
    await this.audit.reportOperator(request, 'webhook.tested', { webhookId });
    const result = await this.verification.test(callerIdOf(request), webhookId);
    if (result === undefined) throw notFound();
    return result;
  }

  async #shown(details: RegisteredWebhook): Promise<WebhookDetails> {
    return { ...details, ...(await this.waiting.of(details.id, details.status)) };
  }

  /** @throws ProblemError `not-found`, `precondition-failed` */
  async #assertVersion(request: FastifyRequest, id: string): Promise<void> {
    const named = versionsOf(request);
    if (named === undefined) return;
    const found = await ownWebhook(this.webhooks, callerIdOf(request), id);
    if (!named.includes(found.version)) throw staleVersion();
  }

  #permitted(patch: WebhookPatch): Parameters<WebhookStore['patch']>[2] {
    if (patch.endPointUrl === undefined) return patch;
    return { ...patch, ...destinationOf(patch.endPointUrl, this.config) };
  }
}

/** Returns the versions that `If-Match` names, if any. */
const versionsOf = ({ headers }: FastifyRequest): readonly number[] | undefined => readIfMatch(headers['if-match']);

/** Returns the id of a webhook. A text that is no UUID is answered like an unknown id. */
function readId(given: string): string {
  const id = WebhookId.safeParse(given);
  if (!id.success) throw notFound();
  return id.data;
}
