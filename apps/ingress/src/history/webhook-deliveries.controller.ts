import { Controller, Get, Inject, Param, Query, Req, Res, UseInterceptors } from '@nestjs/common';
import { INGRESS_CONFIG, type IngressConfig } from '@relay/settings';
import { WebhookId, WebhookStore } from '@relay/webhooks';
import {
  Access,
  callerIdOf,
  linkToNext,
  Portal,
  RateLimitInterceptor,
  type FastifyReply,
  type FastifyRequest,
  readQuery,
} from '@relay/http';
import { Operation } from '@relay/openapi';
import { notFound } from '../webhooks/webhook-problems.js';
import type { DeliveryAnswers } from './delivery-facts.js';
import { cursorOf } from './delivery-place.js';
import { HistoryQuota } from './history-quota.adapter.js';
import { HistoryQuery } from './history-query.js';
import { listDeliveries } from './history.openapi.js';
import { PartnerDeliveries } from './partner-deliveries.js';

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
