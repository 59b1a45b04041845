import { Controller, Get, Header, HttpCode, Param, Post, Query, Req, UseInterceptors } from '@nestjs/common';
import type { RedisDeliveryHistory } from '@relay/history';
import { Access, callerIdOf, callerOf, Portal, RateLimitInterceptor, readQuery, StrictBody, type Body, type FastifyRequest } from '@relay/http';
import type { JobBodies } from '@relay/jobs';
import type { EnvelopeFinder } from '@relay/kafka';
import { Operation } from '@relay/openapi';
import { ProblemError } from '@relay/problem';
import type { PendingDeliveries, PendingDelivery } from '@relay/retry';
import { clueOf, ClueQuery } from '@relay/story';
import type { WebhookStore } from '@relay/webhooks';
import { askedBy, PartnerAudit } from '../access/partner-audit.js';
import { DeliveryRetries, RETRIES_A_POINT } from './delivery-retries.js';
import { EnvelopeId, RetryRequest, type RetryAnswer } from './history-requests.js';
import { readDeliveries, readPayload, retryDeliveries } from './history.openapi.js';
import { HistoryQuota, morePoints, OwnWebhooks } from './own-webhooks.js';
import { PartnerStories, type PartnerStory } from './partner-stories.js';

/** Points of the quota: a payload, and an envelope that is looked for by its time, may read some megabytes of the log. */
export const POINTS_OF_A_SEARCH = 10;

export const unknownEnvelope = (): ProblemError =>
  new ProblemError(
    'not-found',
    'No delivery of this envelope to a webhook of yours is known. One that waits in the log for a parked or disabled webhook is read with `type` and `around`.',
  );

/** An id that is no UUID names no envelope. */
export function readEnvelopeId(given: string): string {
  const id = EnvelopeId.safeParse(given);
  if (!id.success) throw unknownEnvelope();
  return id.data;
}

/** The bytes of envelopes: from Redis while a delivery of it waits or is dead, else from the log. */
export class EnvelopePayloads {
  constructor(
    private readonly webhooks: Pick<WebhookStore, 'find'>,
    private readonly history: Pick<RedisDeliveryHistory, 'ofEnvelope'>,
    private readonly jobs: Pick<PendingDeliveries, 'ofEnvelope'>,
    private readonly bodies: Pick<JobBodies, 'of'>,
    private readonly finder: Pick<EnvelopeFinder, 'find'>,
  ) {}

  /**
   * The envelope as it was sent; undefined if no delivery of it to these webhooks of the partner is known.
   * @throws ProblemError `not-found` when the log has it no longer, `unavailable` when Kafka does not answer
   */
  async of(partnerId: string, envelopeId: string, webhookIds: ReadonlySet<string>): Promise<Buffer | undefined> {
    const pending = await this.jobs.ofEnvelope(envelopeId, webhookIds);
    for (const { job } of pending) {
      const body = await this.bodies.of(job);
      // Valid envelopes are UTF-8 without a byte order mark, so the text has the bytes that were sent.
      if (body !== undefined) return Buffer.from(body);
    }
    const [lost] = pending;
    const known =
      lost === undefined ? (await this.history.ofEnvelope(envelopeId, [...webhookIds]))[0] : acceptanceOf(lost);
    if (known === undefined) return undefined;
    const webhook = await this.webhooks.find(partnerId, known.webhookId);
    if (webhook === undefined) return undefined;
    const { eventType } = webhook.details;
    const found = await this.finder.find({ envelopeId, eventType, acceptedAt: known.acceptedAt }).catch(away);
    if (found === undefined || !isFor(found.envelope.audience, partnerId))
      throw new ProblemError('not-found', 'There was a delivery of this envelope, but the log no longer has it.');
    return found.envelope.bytes;
  }
}

/** Redis can lose a body. */
const acceptanceOf = ({ job: { webhookId, acceptedAt, waitedSince = acceptedAt } }: PendingDelivery) => ({
  webhookId,
  acceptedAt: waitedSince,
});

/** The delivery was for the partner; a record of another acceptance of this id need not be. */
const isFor = (audience: readonly string[], partnerId: string): boolean =>
  audience.length === 0 || audience.includes(partnerId);

function away(cause: unknown): never {
  const headers = { 'retry-after': '5' };
  throw new ProblemError('unavailable', 'Kafka, which has the envelope, does not answer at the moment.', {
    headers,
    cause,
  });
}

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

/** An envelope as it was sent, for the partners it was delivered to. */
@Controller('deliveries/:envelopeId/payload')
@Access({ kind: 'bearer', scopes: ['webhooks'] })
@UseInterceptors(RateLimitInterceptor)
export class EnvelopePayloadController {
  constructor(
    private readonly own: OwnWebhooks,
    private readonly payloads: EnvelopePayloads,
    private readonly quota: HistoryQuota,
    private readonly audit: PartnerAudit,
  ) {}

  @Get()
  @Portal('read')
  @Header('content-type', 'application/json')
  @Operation(readPayload)
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
