import { QUEUE_SHARDS } from '@relay/jobs';
import { Get, Header, HttpCode, Inject, Module, Param, Post, Req, type OnApplicationShutdown } from '@nestjs/common';
import { RedisDeliveryHistory, type HourCounts } from '@relay/history';
import {
  callerIdOf,
  callerOf,
  linkToNext,
  Portal,
  readQuery,
  StrictBody,
  type Body,
  type FastifyRequest,
} from '@relay/http';
import { AttemptFinder, EnvelopeFinder } from '@relay/kafka';
import { Operation } from '@relay/openapi';
import { ProblemError } from '@relay/problem';
import { connectShards, Shards } from '@relay/redis';
import { PendingDeliveries } from '@relay/retry';
import { INGRESS_CONFIG, type IngressConfig } from '@relay/settings';
import { clueOf, ClueQuery, StoryState } from '@relay/story';
import { reasonOf, ThrottledLog } from '@relay/telemetry';
import { WebhookStore } from '@relay/webhooks';
import { Redis } from 'ioredis';
import { askedBy, Exchange, PartnerAudit, PartnerRoutes, Reads } from '../access/partner-routes.js';
import { built } from '../platform.module.js';
import { isShown, notFound, ownWebhook } from '../webhooks/webhook-problems.js';
import { WebhooksModule } from '../webhooks/webhooks.module.js';
import { cursorOf, DeliveryLists, PartnerDeliveries, type DeliveryAnswers } from './delivery-lists.js';
import { BulkRetry, DeliveryRetries, RETRIES_A_POINT } from './delivery-retries.js';
import {
  DeliveriesQuery,
  DeliveryCountsQuery,
  EnvelopeId,
  HistoryQuery,
  operations,
  RetryRequest,
  RetrySelection,
  type RetryAnswer,
  type SelectionRetried,
} from './history.openapi.js';
import {
  HistoryQuota,
  LOOKED_AT_A_POINT,
  morePoints,
  OwnWebhooks,
  StatesQuery,
  WebhookStates,
  type WebhookState,
  type WebhookStatesAnswer,
} from './own-webhooks.js';
import { EnvelopePayloads, PartnerStories, type PartnerStory } from './partner-stories.js';

/** Routes for the deliveries of a partner to all its webhooks. */
@PartnerRoutes('deliveries')
class PartnerDeliveriesController {
  constructor(
    private readonly own: OwnWebhooks,
    private readonly deliveries: PartnerDeliveries,
    private readonly retries: BulkRetry,
    private readonly states: WebhookStates,
    @Inject(INGRESS_CONFIG) private readonly config: Pick<IngressConfig, 'PUBLIC_URL'>,
  ) {}

  @Get()
  @Reads(operations.listAllDeliveries)
  async list(@Exchange() { request, reply }: Exchange): Promise<DeliveryAnswers> {
    const wanted = readQuery(DeliveriesQuery, request.query);
    const { webhookId: webhookIds, eventType } = wanted;
    const ids = await this.own.select(callerOf(request), { webhookIds, eventType });
    const { deliveries, next } = await this.deliveries.ofWebhooks(callerIdOf(request), ids, wanted);
    linkToNext(request, reply, next && cursorOf(next), { publicUrl: this.config.PUBLIC_URL });
    return { deliveries };
  }

  @Get('counts')
  @Reads(operations.countDeliveries)
  async counts(@Req() request: FastifyRequest): Promise<HourCounts> {
    const { webhookId: webhookIds, eventType, ...period } = readQuery(DeliveryCountsQuery, request.query);
    return this.states.hours(await this.own.select(callerOf(request), { webhookIds, eventType }), period);
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

/** Routes for the deliveries of one webhook of a partner, and for the state of its webhooks. */
@PartnerRoutes('webhooks')
class WebhookHistoryController {
  constructor(
    private readonly webhooks: WebhookStore,
    private readonly states: WebhookStates,
    private readonly deliveries: PartnerDeliveries,
    private readonly quota: HistoryQuota,
    @Inject(INGRESS_CONFIG) private readonly config: Pick<IngressConfig, 'PUBLIC_URL'>,
  ) {}

  @Get('status')
  @Reads(operations.listWebhookStates)
  async list(@Exchange() { request, reply }: Exchange): Promise<WebhookStatesAnswer> {
    const query = readQuery(StatesQuery, request.query);
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
  @Reads(operations.listDeliveries)
  async deliveriesOf(@Param('id') given: string, @Exchange() { request, reply }: Exchange): Promise<DeliveryAnswers> {
    await this.quota.admit(callerIdOf(request));
    const wanted = readQuery(HistoryQuery, request.query);
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

/**
 * Points of the quota for reading a payload, or for searching an envelope by its time. Both may read megabytes of the log.
 */
const POINTS_OF_A_SEARCH = 10;
const POINTS_OF_A_STORY = 3;

const unknownEnvelope = (): ProblemError =>
  new ProblemError(
    'not-found',
    'No delivery of this envelope to a webhook of yours is known. One that waits in the log for a parked or disabled webhook is read with `type` and `around`.',
  );

/** Returns the id of an envelope. A text that is no UUID is answered like an unknown id. */
function readEnvelopeId(given: string): string {
  const id = EnvelopeId.safeParse(given);
  if (!id.success) throw unknownEnvelope();
  return id.data;
}

/** Routes for a partner's own deliveries of one envelope. */
@PartnerRoutes('deliveries/:envelopeId')
class EnvelopeDeliveriesController {
  constructor(
    private readonly own: OwnWebhooks,
    private readonly stories: PartnerStories,
    private readonly retries: DeliveryRetries,
    private readonly quota: HistoryQuota,
  ) {}

  @Get()
  @Reads(operations.readDeliveries)
  async read(@Param('envelopeId') given: string, @Req() request: FastifyRequest): Promise<PartnerStory> {
    const clue = clueOf(readQuery(ClueQuery, request.query));
    const envelopeId = readEnvelopeId(given);
    const partnerId = callerIdOf(request);
    const owned = await this.own.ids(callerOf(request));
    if (clue !== undefined) await this.quota.admit(partnerId, POINTS_OF_A_SEARCH - 1);
    const { story, away } = await this.stories.of(partnerId, envelopeId, owned, clue);
    if (story === undefined && away.length > 0)
      throw new ProblemError('unavailable', `Nothing is known without what is away: ${away.join(', ')}.`, {
        headers: { 'retry-after': '5' },
      });
    if (story === undefined) throw unknownEnvelope();
    if (clue === undefined) await this.quota.admit(partnerId, POINTS_OF_A_STORY - 1);
    return story;
  }

  @Post('retry')
  @Portal('write')
  @HttpCode(202)
  @Operation(operations.retryDeliveries)
  async retry(
    @Param('envelopeId') given: string,
    @StrictBody(RetryRequest, 'optional') body: Body<RetryRequest>,
    @Req() request: FastifyRequest,
  ): Promise<RetryAnswer> {
    const envelopeId = readEnvelopeId(given);
    const { webhookId } = body();
    const partnerId = callerIdOf(request);
    const owned = await this.own.ids(callerOf(request));
    const meant = webhookId === undefined ? owned : new Set([...owned].filter((id) => id === webhookId));
    const { retried, refused } = await this.retries.ofEnvelope(askedBy(request), envelopeId, meant, (found) =>
      this.quota.admit(partnerId, morePoints(found, RETRIES_A_POINT)),
    );
    if (retried > 0) return { retried };
    if (!(await this.stories.isKnown(envelopeId, meant))) throw unknownEnvelope();
    throw new ProblemError(
      'conflict',
      refused[0]?.why ??
        'No delivery of this envelope waits or is a dead letter: each was delivered or is being attempted.',
    );
  }
}

/** A route for an envelope as it was sent. It is for partners that have a delivery of the envelope. */
@PartnerRoutes('deliveries/:envelopeId/payload')
class EnvelopePayloadController {
  constructor(
    private readonly own: OwnWebhooks,
    private readonly payloads: EnvelopePayloads,
    private readonly quota: HistoryQuota,
    private readonly audit: PartnerAudit,
  ) {}

  @Get()
  @Header('content-type', 'application/json')
  @Reads(operations.readPayload)
  async read(@Param('envelopeId') given: string, @Req() request: FastifyRequest): Promise<Buffer> {
    const envelopeId = readEnvelopeId(given);
    const partnerId = callerIdOf(request);
    const owned = await this.own.ids(callerOf(request));
    await this.quota.admit(partnerId, POINTS_OF_A_SEARCH - 1);
    const bytes = await this.payloads.of(partnerId, envelopeId, owned);
    if (bytes === undefined) throw unknownEnvelope();
    await this.audit.reportOperator(request, 'envelope.read', { envelopeId });
    return bytes;
  }
}

@Module({
  imports: [WebhooksModule],
  controllers: [
    WebhookHistoryController,
    PartnerDeliveriesController,
    EnvelopeDeliveriesController,
    EnvelopePayloadController,
  ],
  exports: [OwnWebhooks],
  providers: [
    HistoryQuota,
    OwnWebhooks,
    DeliveryLists,
    PartnerDeliveries,
    DeliveryRetries,
    BulkRetry,
    EnvelopePayloads,
    PartnerStories,
    WebhookStates,
    { provide: QUEUE_SHARDS, useFactory: queueShardsOf, inject: [INGRESS_CONFIG, ThrottledLog] },
    built(PendingDeliveries, Shards, QUEUE_SHARDS),
    built(StoryState, Redis, Shards, PendingDeliveries, RedisDeliveryHistory),
  ],
})
export class HistoryModule implements OnApplicationShutdown {
  constructor(
    @Inject(QUEUE_SHARDS) private readonly queueShards: Shards,
    private readonly finder: EnvelopeFinder,
    private readonly attempts: AttemptFinder,
  ) {}

  async onApplicationShutdown(): Promise<void> {
    for (const connection of this.queueShards.connections) connection.disconnect();
    await Promise.all([this.finder.close(), this.attempts.close()]);
  }
}

function queueShardsOf(config: IngressConfig, log: ThrottledLog): Shards {
  const away = (error: Error): void =>
    log.warn('redis.away', 'Redis does not answer; the ingress reconnects by itself', { reason: reasonOf(error) });
  return connectShards(config, 'queue', away);
}
