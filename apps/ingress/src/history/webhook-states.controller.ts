import { Controller, Get, Inject, Query, Req, Res, UseInterceptors } from '@nestjs/common';
import {
  Access,
  callerOf,
  linkToNext,
  Portal,
  RateLimitInterceptor,
  readQuery,
  type FastifyReply,
  type FastifyRequest,
} from '@relay/http';
import { INGRESS_CONFIG, type IngressConfig } from '@relay/settings';
import { WebhookStore } from '@relay/webhooks';
import { Operation } from '@relay/openapi';
import { isShown, notFound } from '../webhooks/webhook-problems.js';
import { listWebhookStates } from './history.openapi.js';
import { HistoryQuota, LOOKED_AT_A_POINT, morePoints } from './own-webhooks.js';
import { StatesQuery, WebhookStates, type WebhookState, type WebhookStatesAnswer } from './webhook-states.js';

/** How the deliveries of a partner's own webhooks stand. */
@Controller('webhooks/status')
@Access({ kind: 'bearer', scopes: ['webhooks'] })
@UseInterceptors(RateLimitInterceptor)
export class WebhookStatesController {
  constructor(
    private readonly webhooks: WebhookStore,
    private readonly states: WebhookStates,
    private readonly quota: HistoryQuota,
    @Inject(INGRESS_CONFIG) private readonly config: Pick<IngressConfig, 'PUBLIC_URL'>,
  ) {}

  @Get()
  @Portal('read')
  @Operation(listWebhookStates)
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

  async #one(request: FastifyRequest, id: string): Promise<WebhookState[]> {
    const caller = callerOf(request);
    const found = isShown(caller, id) ? await this.webhooks.find(caller.clientId, id) : undefined;
    if (found === undefined) throw notFound();
    return this.states.of([found.details]);
  }
}
