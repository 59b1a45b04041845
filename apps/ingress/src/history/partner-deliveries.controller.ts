import { Controller, Get, HttpCode, Inject, Param, Post, Query, Req, Res, UseInterceptors } from '@nestjs/common';
import { Access, callerIdOf, callerOf, linkToNext, Portal, RateLimitInterceptor, readQuery, StrictBody, type Body, type FastifyReply, type FastifyRequest } from '@relay/http';
import { Operation } from '@relay/openapi';
import { INGRESS_CONFIG, type IngressConfig } from '@relay/settings';
import { WebhookId, WebhookStore } from '@relay/webhooks';
import { askedBy } from '../access/partner-audit.js';
import { notFound } from '../webhooks/webhook-problems.js';
import { cursorOf, type DeliveryAnswers } from './delivery-facts.js';
import { PartnerDeliveries } from './delivery-lists.js';
import { BulkRetry } from './delivery-retries.js';
import { DeliveriesQuery, HistoryQuery, RetrySelection, type SelectionRetried } from './history-requests.js';
import { listAllDeliveries, listDeliveries, retrySelection } from './history.openapi.js';
import { HistoryQuota, OwnWebhooks } from './own-webhooks.js';

/** A partner's own deliveries to all of its webhooks. */
@Controller('deliveries')
@Access({ kind: 'bearer', scopes: ['webhooks'] })
@UseInterceptors(RateLimitInterceptor)
export class PartnerDeliveriesController {
  constructor(
    private readonly own: OwnWebhooks,
    private readonly deliveries: PartnerDeliveries,
    private readonly retries: BulkRetry,
    @Inject(INGRESS_CONFIG) private readonly config: Pick<IngressConfig, 'PUBLIC_URL'>,
  ) {}

  @Get()
  @Portal('read')
  @Operation(listAllDeliveries)
  async list(
    @Query() query: unknown,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<DeliveryAnswers> {
    const wanted = readQuery(DeliveriesQuery, query);
    const { webhookId: webhookIds, eventType } = wanted;
    const partnerId = callerIdOf(request);
    const ids = await this.own.select(callerOf(request), { webhookIds, eventType });
    const { deliveries, next } = await this.deliveries.ofWebhooks(partnerId, ids, wanted);
    linkToNext(request, reply, next && cursorOf(next), { publicUrl: this.config.PUBLIC_URL });
    return { deliveries: [...deliveries] };
  }

  @Post('retry')
  @Portal('write')
  @HttpCode(202)
  @Operation(retrySelection)
  async retry(
    @StrictBody(RetrySelection) body: Body<RetrySelection>,
    @Req() request: FastifyRequest,
  ): Promise<SelectionRetried> {
    const wanted = body();
    return this.retries.retry(askedBy(request), await this.own.select(callerOf(request), wanted), wanted);
  }
}

/** The deliveries of a partner's own webhook. */
@Controller('webhooks/:id/deliveries')
@Access({ kind: 'bearer', scopes: ['webhooks'] })
@UseInterceptors(RateLimitInterceptor)
export class WebhookDeliveriesController {
  constructor(
    private readonly webhooks: WebhookStore,
    private readonly deliveries: PartnerDeliveries,
    private readonly quota: HistoryQuota,
    @Inject(INGRESS_CONFIG) private readonly config: Pick<IngressConfig, 'PUBLIC_URL'>,
  ) {}

  @Get()
  @Portal('read')
  @Operation(listDeliveries)
  async list(
    @Param('id') given: string,
    @Query() query: unknown,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<DeliveryAnswers> {
    await this.quota.admit(callerIdOf(request));
    const wanted = readQuery(HistoryQuery, query);
    const id = WebhookId.safeParse(given);
    const found = id.success ? await this.webhooks.find(callerIdOf(request), id.data) : undefined;
    if (found === undefined) throw notFound();
    const { deliveries, next } = await this.deliveries.ofWebhooks(callerIdOf(request), [found.details.id], wanted);
    linkToNext(request, reply, next && cursorOf(next), { publicUrl: this.config.PUBLIC_URL });
    return { deliveries: [...deliveries] };
  }
}
