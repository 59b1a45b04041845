import type { RedisDeliveryHistory } from '@relay/history';
import type { JobBodies } from '@relay/jobs';
import type { EnvelopeFinder } from '@relay/kafka';
import { ProblemError } from '@relay/problem';
import type { PendingDeliveries, PendingDelivery } from '@relay/retry';
import type { WebhookStore } from '@relay/webhooks';

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
