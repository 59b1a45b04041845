import { Get, Inject, Param, Query, Req, Res } from '@nestjs/common';
import { callerIdOf, callerOf, linkToNext, Portal, readQuery, type FastifyReply, type FastifyRequest } from '@relay/http';
import { INGRESS_CONFIG, type IngressConfig } from '@relay/settings';
import { WebhookStore } from '@relay/webhooks';
import { Operation } from '@relay/openapi';
import { PartnerRoutes } from '../access/partner-routes.js';
import { isShown, notFound, ownWebhook } from '../webhooks/webhook-problems.js';
import { cursorOf, type DeliveryAnswers } from './delivery-facts.js';
import { PartnerDeliveries } from './delivery-lists.js';
import { HistoryQuery } from './history-requests.js';
import { operations } from './history.openapi.js';
import { HistoryQuota, LOOKED_AT_A_POINT, morePoints } from './own-webhooks.js';
import { StatesQuery, WebhookStates, type WebhookState, type WebhookStatesAnswer } from './webhook-states.js';

/** The deliveries of a partner's own webhooks, and how they stand. */
@PartnerRoutes('webhooks')
export class WebhookHistoryController {
  constructor(
    private readonly webhooks: WebhookStore,
    private readonly states: WebhookStates,
    private readonly deliveries: PartnerDeliveries,
    private readonly quota: HistoryQuota,
    @Inject(INGRESS_CONFIG) private readonly config: Pick<IngressConfig, 'PUBLIC_URL'>,
  ) {}

  @Get('status')
  @Portal('read')
  @Operation(operations.listWebhookStates)
  async list(
    @Query() given: unknown,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<WebhookStatesAnswer> {
    const query = readQuery(StatesQuery, given);
    const { clientId: partnerId, portal } = callerOf(request);
    await this.quota.admit(partnerId);
    if (query.webhookId !== undefined) return { webhooks: await this.#one(request, query.webhookId) };
    const { eventType, limit, cursor: after } = query;
    const listing = { eventType, limit, after, ids: portal?.webhookIds };
    const { webhooks, next } = await this.webhooks.listDetails(partnerId, listing);
    await this.quota.admit(partnerId, morePoints(webhooks.length, LOOKED_AT_A_POINT));
    linkToNext(request, reply, next, { publicUrl: this.config.PUBLIC_URL });
    return { webhooks: await this.states.of(webhooks) };
  }

  @Get(':id/deliveries')
  @Portal('read')
  @Operation(operations.listDeliveries)
  async deliveriesOf(
    @Param('id') given: string,
    @Query() query: unknown,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<DeliveryAnswers> {
    await this.quota.admit(callerIdOf(request));
    const wanted = readQuery(HistoryQuery, query);
    const { details } = await ownWebhook(this.webhooks, callerIdOf(request), given);
    const { deliveries, next } = await this.deliveries.ofWebhooks(callerIdOf(request), [details.id], wanted);
    linkToNext(request, reply, next && cursorOf(next), { publicUrl: this.config.PUBLIC_URL });
    return { deliveries };
  }

  async #one(request: FastifyRequest, id: string): Promise<WebhookState[]> {
    const caller = callerOf(request);
    const found = isShown(caller, id) ? await this.webhooks.find(caller.clientId, id) : undefined;
    if (found === undefined) throw notFound();
    return this.states.of([found.details]);
  }
}
