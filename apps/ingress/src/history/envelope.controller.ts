import { Get, Header, HttpCode, Injectable, Param, Post, Query, Req } from '@nestjs/common';
import { RedisDeliveryHistory } from '@relay/history';
import { callerIdOf, callerOf, Portal, readQuery, StrictBody, type Body, type FastifyRequest } from '@relay/http';
import { JobBodies } from '@relay/jobs';
import { EnvelopeFinder } from '@relay/kafka';
import { Operation } from '@relay/openapi';
import { ProblemError } from '@relay/problem';
import { Shards } from '@relay/redis';
import { PendingDeliveries, type PendingDelivery } from '@relay/retry';
import { clueOf, ClueQuery } from '@relay/story';
import { WebhookStore } from '@relay/webhooks';
import { askedBy, PartnerAudit, PartnerRoutes } from '../access/partner-routes.js';
import { DeliveryRetries, RETRIES_A_POINT } from './delivery-retries.js';
import { EnvelopeId, RetryRequest, type RetryAnswer } from './history-requests.js';
import { operations } from './history.openapi.js';
import { HistoryQuota, morePoints, OwnWebhooks } from './own-webhooks.js';
import { PartnerStories, type PartnerStory } from './partner-stories.js';

/** Points of the quota: a payload, and an envelope that is looked for by its time, may read some megabytes of the log. */
const POINTS_OF_A_SEARCH = 10;
const POINTS_OF_A_STORY = 3;

const unknownEnvelope = (): ProblemError =>
  new ProblemError(
    'not-found',
    'No delivery of this envelope to a webhook of yours is known. One that waits in the log for a parked or disabled webhook is read with `type` and `around`.',
  );

/** An id that is no UUID names no envelope. */
function readEnvelopeId(given: string): string {
  const id = EnvelopeId.safeParse(given);
  if (!id.success) throw unknownEnvelope();
  return id.data;
}

/** The bytes of envelopes: from Redis while a delivery of it waits or is dead, else from the log. */
@Injectable()
export class EnvelopePayloads {
  readonly #bodies: JobBodies;

  constructor(
    private readonly webhooks: WebhookStore,
    private readonly history: RedisDeliveryHistory,
    private readonly jobs: PendingDeliveries,
    private readonly finder: EnvelopeFinder,
    shards: Shards,
  ) {
    this.#bodies = new JobBodies(shards);
  }

  /**
   * The envelope as it was sent; undefined if no delivery of it to these webhooks of the partner is known.
   * @throws ProblemError `not-found` when the log has it no longer, `unavailable` when Kafka does not answer
   */
  async of(partnerId: string, envelopeId: string, webhookIds: ReadonlySet<string>): Promise<Buffer | undefined> {
    const pending = await this.jobs.ofEnvelope(envelopeId, webhookIds);
    for (const { job } of pending) {
      const body = await this.#bodies.of(job);
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
  throw new ProblemError('unavailable', 'Kafka, which has the envelope, does not answer at the moment.', {
    headers: { 'retry-after': '5' },
    cause,
  });
}

/** A partner's own deliveries of one envelope. */
@PartnerRoutes('deliveries/:envelopeId')
export class EnvelopeDeliveriesController {
  constructor(
    private readonly own: OwnWebhooks,
    private readonly stories: PartnerStories,
    private readonly retries: DeliveryRetries,
    private readonly quota: HistoryQuota,
  ) {}

  @Get()
  @Portal('read')
  @Operation(operations.readDeliveries)
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

/** An envelope as it was sent, for the partners it was delivered to. */
@PartnerRoutes('deliveries/:envelopeId/payload')
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
  @Operation(operations.readPayload)
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
