import { Controller, Get, Inject, Param, Query, Req, Res, UseInterceptors } from '@nestjs/common';
import { WebhookId, WebhookStore } from '@relay/webhooks';
import { Access } from '../http/access.decorator.js';
import { callerIdOf, type FastifyReply, type FastifyRequest } from '../http/fastify-request.js';
import { Operation } from '../http/operation.decorator.js';
import { RateLimitInterceptor } from '../http/rate-limit.interceptor.js';
import { INGRESS_CONFIG, type IngressConfig } from '../ingress.config.js';
import { notFound } from '../webhooks/webhook-problems.js';
import type { DeliveryAnswers } from './delivery-facts.js';
import { HistoryQuota } from './history-quota.adapter.js';
import { linkToNext, readHistoryQuery } from './history-query.js';
import { listDeliveries } from './history.operations.js';
import { PartnerDeliveries } from './partner-deliveries.js';

/** The deliveries of a partner's own webhook. */
@Controller('webhooks/:id/deliveries')
@Access({ kind: 'bearer', scopes: ['webhooks'] })
@UseInterceptors(RateLimitInterceptor)
export class WebhookDeliveriesController {
  readonly #path: string;

  constructor(
    private readonly webhooks: WebhookStore,
    private readonly deliveries: PartnerDeliveries,
    private readonly quota: HistoryQuota,
    @Inject(INGRESS_CONFIG) config: IngressConfig,
  ) {
    this.#path = `${new URL(config.PUBLIC_URL).pathname.replace(/\/$/, '')}/webhooks`;
  }

  @Get()
  @Operation(listDeliveries)
  async list(
    @Param('id') given: string,
    @Query() query: unknown,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<DeliveryAnswers> {
    await this.quota.admit(callerIdOf(request));
    const wanted = readHistoryQuery(query);
    const id = WebhookId.safeParse(given);
    const found = id.success ? await this.webhooks.find(callerIdOf(request), id.data) : undefined;
    if (found === undefined) throw notFound();
    const { deliveries, next } = await this.deliveries.ofWebhook(found.details.id, wanted);
    if (next !== undefined)
      void reply.header('link', linkToNext(`${this.#path}/${found.details.id}/deliveries`, wanted, next));
    return { deliveries: [...deliveries] };
  }
}
