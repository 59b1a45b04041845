import { Delete, Get, HttpCode, Inject, Param, Patch, Post, Req, Res } from '@nestjs/common';
import type { EgressPolicy } from '@relay/egress';
import { INGRESS_CONFIG, type IngressConfig, policyOf } from '@relay/settings';
import { patchFaults, WebhookId, WebhookPatch, WebhookStore, type RegisteredWebhook, type SigningSecret, type WebhookDetails } from '@relay/webhooks';
import { callerIdOf, callerOf, etagOf, HasVersions, Portal, readIfMatch, StrictBody, type Body, type FastifyReply, type FastifyRequest, Waits } from '@relay/http';
import { Operation } from '@relay/openapi';
import { PartnerAudit, PartnerRoutes } from '../access/partner-routes.js';
import { EndpointVerification } from './endpoint-verification.js';
import { crowdedOrigin, destinationOf, fixedMembers, isShown, notFound, ownWebhook, staleVersion, stoppedByOperator, taken, unverified } from './webhook-problems.js';
import type { TestResult } from './test-deliveries.js';
import { WebhookWaiting } from './webhook-waiting.js';
import { operations } from './webhooks.openapi.js';

/** One webhook by its id. */
@PartnerRoutes('webhooks/:id')
export class WebhookController {
  readonly #policy: EgressPolicy;

  constructor(
    private readonly webhooks: WebhookStore,
    private readonly waiting: WebhookWaiting,
    private readonly verification: EndpointVerification,
    private readonly audit: PartnerAudit,
    @Inject(INGRESS_CONFIG) private readonly config: IngressConfig,
  ) {
    this.#policy = policyOf(config);
  }

  @Get()
  @Portal('read')
  @Operation(operations.readWebhook)
  async read(
    @Param('id') id: string,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<WebhookDetails> {
    const found = await ownWebhook(this.webhooks, callerIdOf(request), id);
    void reply.header('etag', etagOf(found.version));
    return this.#shown(found.details);
  }

  @Patch()
  @HasVersions()
  @Portal('write')
  @Operation(operations.patchWebhook)
  async change(
    @Param('id') given: string,
    @StrictBody(WebhookPatch) body: Body<WebhookPatch>,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<WebhookDetails> {
    const id = readId(given);
    const patch = this.#permitted(body());
    const ifVersions = versionsOf(request);
    const found = await ownWebhook(this.webhooks, callerIdOf(request), id);
    if (ifVersions?.includes(found.version) === false) throw staleVersion();
    const faults = patchFaults(patch, await this.#shown(found.details));
    if (faults.length > 0) throw fixedMembers(faults);
    const result = await this.webhooks.patch(callerIdOf(request), id, patch, ifVersions);
    if (result.kind === 'exists') throw taken(isShown(callerOf(request), result.id) ? result.id : undefined);
    if (result.kind === 'stale') throw staleVersion();
    if (result.kind === 'origin-limit') throw crowdedOrigin(this.config.WEBHOOKS_PER_ORIGIN);
    const read = await this.read(id, request, reply);
    this.verification.begin(callerIdOf(request), id);
    return read;
  }

  @Delete()
  @HasVersions()
  @Portal('write')
  @HttpCode(204)
  @Operation(operations.removeWebhook)
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
    await this.audit.report(request, 'secret.read', { webhookId });
    return { secret };
  }

  @Post('secret/rotate')
  @HasVersions()
  @Portal('write')
  @HttpCode(200)
  @Operation(operations.rotateWebhookSecret)
  async rotate(@Param('id') id: string, @Req() request: FastifyRequest): Promise<SigningSecret> {
    const webhookId = readId(id);
    const rotated = await this.webhooks.rotateSecret(callerIdOf(request), webhookId, versionsOf(request));
    if (rotated.kind === 'not-found') throw notFound();
    if (rotated.kind === 'stale') throw staleVersion();
    // A repeated rotation changes nothing, and answers the secret all the same.
    await this.audit.report(request, 'secret.read', { webhookId });
    return { secret: rotated.secret };
  }

  @Post('enable')
  @HasVersions()
  @Portal('write')
  @HttpCode(200)
  @Operation(operations.enableWebhook)
  async enable(
    @Param('id') given: string,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<WebhookDetails> {
    const id = readId(given);
    const outcome = await this.verification.enable(callerIdOf(request), id, versionsOf(request));
    if (outcome === 'not-found') throw notFound();
    if (outcome === 'stale') throw staleVersion();
    if (outcome === 'operator') throw stoppedByOperator();
    if (outcome !== 'enabled') throw unverified(outcome);
    return this.read(id, request, reply);
  }

  @Post('disable')
  @HasVersions()
  @Portal('write')
  @HttpCode(200)
  @Operation(operations.disableWebhook)
  async disable(
    @Param('id') given: string,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<WebhookDetails> {
    const id = readId(given);
    await this.#assertVersion(request, id);
    // `stale`: it is disabled already and keeps its reason. An unverified webhook stays unverified.
    const { kind } = await this.webhooks.disable(callerIdOf(request), id, 'partner', versionsOf(request));
    if (kind === 'not-found') throw notFound();
    return this.read(id, request, reply);
  }

  @Post('test')
  @HasVersions()
  @Portal('write')
  @Waits()
  @HttpCode(200)
  @Operation(operations.testWebhook)
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
    return { ...patch, ...destinationOf(patch.endPointUrl, this.#policy) };
  }
}

/** The versions that `If-Match` names, if any. */
const versionsOf = ({ headers }: FastifyRequest): readonly number[] | undefined => readIfMatch(headers['if-match']);

/** A text that is no UUID is the id of no webhook. */
function readId(given: string): string {
  const id = WebhookId.safeParse(given);
  if (!id.success) throw notFound();
  return id.data;
}
