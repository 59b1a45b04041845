import { Controller, Get, Header, HttpCode, Param, Post, Req, UseInterceptors } from '@nestjs/common';
import { ProblemError } from '@relay/problem';
import {
  Access,
  callerIdOf,
  callerOf,
  Portal,
  RateLimitInterceptor,
  StrictBody,
  type Body,
  type FastifyRequest,
} from '@relay/http';
import { Operation } from '@relay/openapi';
import { RETRIES_A_POINT } from './bulk-retry.js';
import type { DeliveryAnswers } from './delivery-facts.js';
import { DeliveryRetries } from './delivery-retries.js';
import { EnvelopePayloads } from './envelope-payloads.js';
import { HistoryQuota } from './history-quota.adapter.js';
import { readDeliveries, readPayload, retryDeliveries } from './history.openapi.js';
import { morePoints, OwnWebhooks } from './own-webhooks.js';
import { PartnerDeliveries } from './partner-deliveries.js';
import { EnvelopeId, RetryRequest, type RetryAnswer } from './retry-request.js';

/** Points of the quota; it may read some megabytes of the log. */
const POINTS_OF_A_PAYLOAD = 10;

/** A partner's own deliveries of one envelope. */
@Controller('deliveries/:envelopeId')
@Access({ kind: 'bearer', scopes: ['webhooks'] })
@UseInterceptors(RateLimitInterceptor)
export class EnvelopeDeliveriesController {
  constructor(
    private readonly own: OwnWebhooks,
    private readonly deliveries: PartnerDeliveries,
    private readonly retries: DeliveryRetries,
    private readonly payloads: EnvelopePayloads,
    private readonly quota: HistoryQuota,
  ) {}

  @Get()
  @Portal('read')
  @Operation(readDeliveries)
  async read(@Param('envelopeId') given: string, @Req() request: FastifyRequest): Promise<DeliveryAnswers> {
    const envelopeId = readId(given);
    const partnerId = callerIdOf(request);
    const deliveries = await this.deliveries.ofEnvelope(partnerId, envelopeId, await this.own.ids(callerOf(request)));
    if (deliveries.length === 0) throw unknown();
    return { deliveries: [...deliveries] };
  }

  @Get('payload')
  @Portal('read')
  @Header('content-type', 'application/json')
  @Operation(readPayload)
  async payload(@Param('envelopeId') given: string, @Req() request: FastifyRequest): Promise<Buffer> {
    const envelopeId = readId(given);
    const partnerId = callerIdOf(request);
    const owned = await this.own.ids(callerOf(request));
    await this.quota.admit(partnerId, POINTS_OF_A_PAYLOAD - 1);
    const bytes = await this.payloads.of(partnerId, envelopeId, owned);
    if (bytes === undefined) throw unknown();
    return bytes;
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
    const envelopeId = readId(given);
    const { webhookId } = body();
    const partnerId = callerIdOf(request);
    const owned = await this.own.ids(callerOf(request));
    const meant = webhookId === undefined ? owned : new Set([...owned].filter((id) => id === webhookId));
    const { retried, refused } = await this.retries.ofEnvelope(partnerId, envelopeId, meant, (found) =>
      this.quota.admit(partnerId, morePoints(found, RETRIES_A_POINT)),
    );
    if (retried > 0) return { retried };
    if ((await this.deliveries.ofEnvelope(partnerId, envelopeId, meant)).length === 0) throw unknown();
    throw new ProblemError(
      'conflict',
      refused[0]?.why ??
        'No delivery of this envelope waits or is a dead letter: each was delivered or is being attempted.',
    );
  }
}

const unknown = (): ProblemError =>
  new ProblemError(
    'not-found',
    'No delivery of this envelope to a webhook of yours is known, unless it waits in the log for a parked or disabled one.',
  );

/** An id that is no UUID names no envelope. */
function readId(given: string): string {
  const id = EnvelopeId.safeParse(given);
  if (!id.success) throw unknown();
  return id.data;
}
