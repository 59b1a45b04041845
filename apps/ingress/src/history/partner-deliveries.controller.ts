import { Controller, Get, HttpCode, Inject, Post, Query, Req, Res, UseInterceptors } from '@nestjs/common';
import {
  Access,
  callerIdOf,
  callerOf,
  linkToNext,
  Portal,
  RateLimitInterceptor,
  readQuery,
  StrictBody,
  type Body,
  type FastifyReply,
  type FastifyRequest,
} from '@relay/http';
import { INGRESS_CONFIG, type IngressConfig } from '@relay/settings';
import { Operation } from '@relay/openapi';
import { askedBy } from '../access/partner-audit.js';
import { BulkRetry } from './bulk-retry.js';
import type { DeliveryAnswers } from './delivery-facts.js';
import { cursorOf } from './delivery-place.js';
import { DeliveriesQuery } from './history-query.js';
import { listAllDeliveries, retrySelection } from './history.openapi.js';
import { OwnWebhooks } from './own-webhooks.js';
import { PartnerDeliveries } from './partner-deliveries.js';
import { RetrySelection, type SelectionRetried } from './retry-request.js';

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
