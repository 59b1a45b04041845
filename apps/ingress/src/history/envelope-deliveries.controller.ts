import { Controller, Get, HttpCode, Param, Post, Query, Req, UseInterceptors } from '@nestjs/common';
import { ProblemError } from '@relay/problem';
import {
  Access,
  callerIdOf,
  callerOf,
  Portal,
  RateLimitInterceptor,
  readQuery,
  StrictBody,
  type Body,
  type FastifyRequest,
} from '@relay/http';
import { Operation } from '@relay/openapi';
import { ClueQuery, clueOf } from '@relay/story';
import { askedBy } from '../access/partner-audit.js';
import { RETRIES_A_POINT } from './bulk-retry.js';
import { DeliveryRetries } from './delivery-retries.js';
import { POINTS_OF_A_SEARCH, readEnvelopeId, unknownEnvelope } from './named-envelope.js';
import { HistoryQuota } from './history-quota.adapter.js';
import { readDeliveries, retryDeliveries } from './history.openapi.js';
import { morePoints, OwnWebhooks } from './own-webhooks.js';
import { PartnerStories, type PartnerStory } from './partner-stories.js';
import { RetryRequest, type RetryAnswer } from './retry-request.js';

/** Points of the quota. */
const POINTS_OF_A_STORY = 3;

/** A partner's own deliveries of one envelope. */
@Controller('deliveries/:envelopeId')
@Access({ kind: 'bearer', scopes: ['webhooks'] })
@UseInterceptors(RateLimitInterceptor)
export class EnvelopeDeliveriesController {
  constructor(
    private readonly own: OwnWebhooks,
    private readonly stories: PartnerStories,
    private readonly retries: DeliveryRetries,
    private readonly quota: HistoryQuota,
  ) {}

  @Get()
  @Portal('read')
  @Operation(readDeliveries)
  async read(
    @Param('envelopeId') given: string,
    @Query() query: unknown,
    @Req() request: FastifyRequest,
  ): Promise<PartnerStory> {
    const clue = clueOf(readQuery(ClueQuery, query));
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
  @Operation(retryDeliveries)
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
