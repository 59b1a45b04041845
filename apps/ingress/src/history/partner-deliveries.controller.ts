import { Get, HttpCode, Inject, Post, Query, Req, Res } from '@nestjs/common';
import { callerIdOf, callerOf, linkToNext, Portal, readQuery, StrictBody, type Body, type FastifyReply, type FastifyRequest } from '@relay/http';
import { Operation } from '@relay/openapi';
import { INGRESS_CONFIG, type IngressConfig } from '@relay/settings';
import { askedBy, PartnerRoutes } from '../access/partner-routes.js';
import { cursorOf, type DeliveryAnswers } from './delivery-facts.js';
import { PartnerDeliveries } from './delivery-lists.js';
import { BulkRetry } from './delivery-retries.js';
import { DeliveriesQuery, RetrySelection, type SelectionRetried } from './history-requests.js';
import { operations } from './history.openapi.js';
import { OwnWebhooks } from './own-webhooks.js';

/** A partner's own deliveries to all of its webhooks. */
@PartnerRoutes('deliveries')
export class PartnerDeliveriesController {
  constructor(
    private readonly own: OwnWebhooks,
    private readonly deliveries: PartnerDeliveries,
    private readonly retries: BulkRetry,
    @Inject(INGRESS_CONFIG) private readonly config: Pick<IngressConfig, 'PUBLIC_URL'>,
  ) {}

  @Get()
  @Portal('read')
  @Operation(operations.listAllDeliveries)
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
    return { deliveries };
  }

  @Post('retry')
  @Portal('write')
  @HttpCode(202)
  @Operation(operations.retrySelection)
  async retry(
    @StrictBody(RetrySelection) body: Body<RetrySelection>,
    @Req() request: FastifyRequest,
  ): Promise<SelectionRetried> {
    const wanted = body();
    return this.retries.retry(askedBy(request), await this.own.select(callerOf(request), wanted), wanted);
  }
}
