import {
  Controller,
  Delete,
  Get,
  HttpCode,
  Inject,
  Param,
  Patch,
  Post,
  Req,
  Res,
  UseInterceptors,
} from '@nestjs/common';
import type { EgressPolicy } from '@relay/egress';
import { INGRESS_CONFIG, type IngressConfig } from '@relay/settings';
import { WebhookId, WebhookPatch, WebhookStore, type SigningSecret, type WebhookDetails } from '@relay/webhooks';
import {
  Access,
  callerIdOf,
  Portal,
  RateLimitInterceptor,
  StrictBody,
  type Body,
  type FastifyReply,
  type FastifyRequest,
  Waits,
} from '@relay/http';
import { Operation } from '@relay/openapi';
import { PartnerAudit } from '../access/partner-audit.js';
import { PresentRequestInterceptor } from './present-request.interceptor.js';
import { policyOf } from './egress-policy.js';
import { destinationOf } from './draft.js';
import { EndpointVerification } from './endpoint-verification.js';
import { etagOf, matchingVersion, readIfMatch } from './if-match.js';
import { crowdedOrigin, notFound, staleVersion, taken, unverified } from './webhook-problems.js';
import type { TestResult } from './test-deliveries.js';
import { WebhookWaiting } from './webhook-waiting.adapter.js';
import {
  disableWebhook,
  enableWebhook,
  patchWebhook,
  readWebhook,
  readWebhookSecret,
  removeWebhook,
  rotateWebhookSecret,
  testWebhook,
} from './webhooks.openapi.js';

/** One webhook by its id. */
@Controller('webhooks/:id')
@Access({ kind: 'bearer', scopes: ['webhooks'] })
@UseInterceptors(RateLimitInterceptor, PresentRequestInterceptor)
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
  @Operation(readWebhook)
  async read(
    @Param('id') id: string,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<WebhookDetails> {
    const found = await this.webhooks.find(callerIdOf(request), readId(id));
    if (found === undefined) throw notFound();
    void reply.header('etag', etagOf(found.version));
    return { ...found.details, ...(await this.waiting.of(found.details.id, found.details.status)) };
  }

  @Patch()
  @Portal('write')
  @Operation(patchWebhook)
  async change(
    @Param('id') given: string,
    @StrictBody(WebhookPatch) body: Body<WebhookPatch>,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<WebhookDetails> {
    const id = readId(given);
    const patch = this.#permitted(body());
    const ifVersion = await this.#ifVersion(request, id);
    const result = await this.webhooks.patch(callerIdOf(request), id, patch, ifVersion);
    if (result.kind === 'exists') throw taken(result.id);
    if (result.kind === 'stale') throw staleVersion();
    if (result.kind === 'origin-limit') throw crowdedOrigin(this.config.WEBHOOKS_PER_ORIGIN);
    const read = await this.read(id, request, reply);
    this.verification.begin(callerIdOf(request), id);
    return read;
  }

  @Delete()
  @Portal('write')
  @HttpCode(204)
  @Operation(removeWebhook)
  async remove(@Param('id') given: string, @Req() request: FastifyRequest): Promise<void> {
    const id = readId(given);
    const { kind } = await this.webhooks.remove(callerIdOf(request), id, await this.#ifVersion(request, id));
    if (kind === 'stale') throw staleVersion();
    if (kind === 'not-found') throw notFound();
  }

  @Get('secret')
  @Portal('write')
  @Operation(readWebhookSecret)
  async secret(@Param('id') id: string, @Req() request: FastifyRequest): Promise<SigningSecret> {
    const webhookId = readId(id);
    const secret = await this.webhooks.signingSecret(callerIdOf(request), webhookId);
    if (secret === undefined) throw notFound();
    await this.audit.report(request, 'secret.read', { webhookId });
    return { secret };
  }

  @Post('secret/rotate')
  @Portal('write')
  @HttpCode(200)
  @Operation(rotateWebhookSecret)
  async rotate(@Param('id') id: string, @Req() request: FastifyRequest): Promise<SigningSecret> {
    const webhookId = readId(id);
    const secret = await this.webhooks.rotateSecret(callerIdOf(request), webhookId);
    if (secret === undefined) throw notFound();
    // A repeated rotation changes nothing, and answers the secret all the same.
    await this.audit.report(request, 'secret.read', { webhookId });
    return { secret };
  }

  @Post('enable')
  @Portal('write')
  @HttpCode(200)
  @Operation(enableWebhook)
  async enable(
    @Param('id') given: string,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<WebhookDetails> {
    const id = readId(given);
    const outcome = await this.verification.enable(callerIdOf(request), id);
    if (outcome === 'not-found') throw notFound();
    if (outcome !== 'enabled') throw unverified(outcome);
    return this.read(id, request, reply);
  }

  @Post('disable')
  @Portal('write')
  @HttpCode(200)
  @Operation(disableWebhook)
  async disable(
    @Param('id') given: string,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<WebhookDetails> {
    const id = readId(given);
    // `stale`: it is disabled already and keeps its reason. An unverified webhook stays unverified.
    const { kind } = await this.webhooks.disable(callerIdOf(request), id, 'partner');
    if (kind === 'not-found') throw notFound();
    return this.read(id, request, reply);
  }

  @Post('test')
  @Portal('write')
  @Waits()
  @HttpCode(200)
  @Operation(testWebhook)
  async test(@Param('id') id: string, @Req() request: FastifyRequest): Promise<TestResult> {
    const webhookId = readId(id);
    await this.audit.reportOperator(request, 'webhook.tested', { webhookId });
    const result = await this.verification.test(callerIdOf(request), webhookId);
    if (result === undefined) throw notFound();
    return result;
  }

  /** The version that `If-Match` demands, if any. */
  async #ifVersion(request: FastifyRequest, id: string): Promise<number | undefined> {
    const named = readIfMatch(request.headers['if-match']);
    if (named === undefined || named.length === 1) return named?.[0];
    return matchingVersion(named, (await this.webhooks.find(callerIdOf(request), id))?.version);
  }

  #permitted(patch: WebhookPatch): Parameters<WebhookStore['patch']>[2] {
    if (patch.endPointUrl === undefined) return patch;
    return { ...patch, ...destinationOf(patch.endPointUrl, this.#policy) };
  }
}

/** A text that is no UUID is the id of no webhook. */
function readId(given: string): string {
  const id = WebhookId.safeParse(given);
  if (!id.success) throw notFound();
  return id.data;
}
