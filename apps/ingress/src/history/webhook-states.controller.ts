import { Controller, Get, Inject, Query, Req, Res, UseInterceptors } from '@nestjs/common';
import {
  Access,
  callerOf,
  Portal,
  RateLimitInterceptor,
  readQuery,
  type FastifyReply,
  type FastifyRequest,
} from '@relay/http';
import { INGRESS_CONFIG, type IngressConfig } from '@relay/settings';
import { WebhookStore } from '@relay/webhooks';
import { Operation } from '@relay/openapi';
import { linkToNext } from '../webhooks/list-query.js';
import { notFound } from '../webhooks/webhook-problems.js';
import { isShown } from '../portal/shown.js';
import { HistoryQuota } from './history-quota.adapter.js';
import { listWebhookStates } from './history.openapi.js';
import { LOOKED_AT_A_POINT, morePoints } from './own-webhooks.js';
import { StatesQuery, type WebhookState, type WebhookStatesAnswer } from './webhook-state.js';
import { WebhookStates } from './webhook-states.js';

/** How the deliveries of a partner's own webhooks stand. */
@Controller('webhooks/status')
@Access({ kind: 'bearer', scopes: ['webhooks'] })
@UseInterceptors(RateLimitInterceptor)
export class WebhookStatesController {
  readonly #path: string;

  constructor(
    private readonly webhooks: WebhookStore,
    private readonly states: WebhookStates,
    private readonly quota: HistoryQuota,
    @Inject(INGRESS_CONFIG) config: IngressConfig,
  ) {
    this.#path = `${new URL(config.PUBLIC_URL).pathname.replace(/\/$/, '')}/webhooks/status`;
  }

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
    if (next !== undefined) void reply.header('link', linkToNext(this.#path, query, next));
    return { webhooks: await this.states.of(webhooks) };
  }

  async #one(request: FastifyRequest, id: string): Promise<WebhookState[]> {
    const caller = callerOf(request);
    const found = isShown(caller, id) ? await this.webhooks.find(caller.clientId, id) : undefined;
    if (found === undefined) throw notFound();
    return this.states.of([found.details]);
  }
}
