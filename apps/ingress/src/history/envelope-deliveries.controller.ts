import { Controller, Get, HttpCode, Param, Post, Req, UseInterceptors } from '@nestjs/common';
import { ProblemError } from '@relay/problem';
import { WebhookStore } from '@relay/webhooks';
import { Access, callerIdOf, RateLimitInterceptor, StrictBody, type Body, type FastifyRequest } from '@relay/http';
import { Operation } from '@relay/openapi';
import type { DeliveryAnswers } from './delivery-facts.js';
import { HistoryQuota } from './history-quota.adapter.js';
import { readDeliveries, retryDeliveries } from './history.openapi.js';
import { PartnerDeliveries } from './partner-deliveries.js';
import { EnvelopeId, RetryRequest, type RetryAnswer } from './retry-request.js';

/** The webhooks looked at, and the deliveries retried, for one point of the quota. */
const [WEBHOOKS_A_POINT, RETRIES_A_POINT] = [100, 10];
/** Points beyond the one already charged, with a ceiling: some of the largest requests are possible every minute. */
const morePoints = (count: number, each: number): number => Math.min(200, Math.ceil(count / each) - 1);

/** A partner's own deliveries of one envelope. */
@Controller('deliveries/:envelopeId')
@Access({ kind: 'bearer', scopes: ['webhooks'] })
@UseInterceptors(RateLimitInterceptor)
export class EnvelopeDeliveriesController {
  constructor(
    private readonly webhooks: WebhookStore,
    private readonly deliveries: PartnerDeliveries,
    private readonly quota: HistoryQuota,
  ) {}

  @Get()
  @Operation(readDeliveries)
  async read(@Param('envelopeId') given: string, @Req() request: FastifyRequest): Promise<DeliveryAnswers> {
    const deliveries = await this.deliveries.ofEnvelope(readId(given), await this.#owned(request));
    if (deliveries.length === 0) throw unknown();
    return { deliveries };
  }

  @Post('retry')
  @HttpCode(202)
  @Operation(retryDeliveries)
  async retry(
    @Param('envelopeId') given: string,
    @StrictBody(RetryRequest, 'optional') body: Body<RetryRequest>,
    @Req() request: FastifyRequest,
  ): Promise<RetryAnswer> {
    const envelopeId = readId(given);
    const { webhookId } = body();
    const owned = await this.#owned(request);
    const meant = webhookId === undefined ? owned : new Set([...owned].filter((id) => id === webhookId));
    const partnerId = callerIdOf(request);
    const { retried, refused } = await this.deliveries.retry(partnerId, envelopeId, meant, (found) =>
      this.quota.admit(partnerId, morePoints(found, RETRIES_A_POINT)),
    );
    if (retried > 0) return { retried };
    if ((await this.deliveries.ofEnvelope(envelopeId, meant)).length === 0) throw unknown();
    throw new ProblemError(
      'conflict',
      refused[0] ?? 'No delivery of this envelope waits or is a dead letter: each was delivered or is being attempted.',
    );
  }

  async #owned(request: FastifyRequest): Promise<Set<string>> {
    const partnerId = callerIdOf(request);
    await this.quota.admit(partnerId);
    const ids = await this.webhooks.idsOf(partnerId);
    await this.quota.admit(partnerId, morePoints(ids.length, WEBHOOKS_A_POINT));
    return new Set(ids);
  }
}

const unknown = (): ProblemError =>
  new ProblemError('not-found', 'No delivery of this envelope to a webhook of yours is known.');

/** An id that is no UUID names no envelope. */
function readId(given: string): string {
  const id = EnvelopeId.safeParse(given);
  if (!id.success) throw unknown();
  return id.data;
}
