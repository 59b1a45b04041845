import { parseDeliveryId, type Delivery } from '@relay/delivery';
import { isEnvelopeType, type AttemptRecord } from '@relay/events';
import type { RedisDeliveryHistory } from '@relay/history';
import { newJob, type QueuedDelivery } from '@relay/jobs';
import type { AttemptFinder, EnvelopeFinder } from '@relay/kafka';
import { standing, standingAfter, type RetryQueue, type Standing } from '@relay/retry';
import type { RedisWebhookView } from '@relay/webhooks';

/** State of a delivery that is counted as queued and has no job. */
export type LostJob =
  /** The job, built again from the log. */
  | { readonly kind: 'found'; readonly delivery: QueuedDelivery }
  /** The job without its body, which the log no longer has. */
  | { readonly kind: 'bodyless'; readonly delivery: QueuedDelivery }
  | { readonly kind: 'ended' }
  /** The delivery has a job or a dead letter again. */
  | { readonly kind: 'stored' };

/**
 * Rebuilds from the log the jobs that Redis has lost. The logged attempts of a delivery show whether it has ended. If a search
 * within its limit finds none of them, the delivery is made again.
 */
export class LostJobs {
  constructor(
    private readonly webhooks: Pick<RedisWebhookView, 'refresh' | 'find'>,
    private readonly history: Pick<RedisDeliveryHistory, 'ofEnvelope'>,
    private readonly queue: Pick<RetryQueue, 'existing'>,
    private readonly attempts: Pick<AttemptFinder, 'find'>,
    private readonly envelopes: Pick<EnvelopeFinder, 'find'>,
  ) {}

  /** @throws Error when a store does not answer */
  async find(id: string): Promise<LostJob> {
    const named = parseDeliveryId(id);
    if (named === undefined) return { kind: 'ended' };
    await this.webhooks.refresh();
    const told = await this.#told(id, named);
    if (told.some(({ final }) => final) || (await this.#isDelivered(named))) return { kind: 'ended' };
    if ((await this.queue.existing([id])).has(id)) return { kind: 'stored' };
    const last = told.at(-1);
    const { eventType = '', partnerId = '' } = this.webhooks.find(named.webhookId) ?? last ?? {};
    // The webhook was deleted before the first attempt.
    if (!isEnvelopeType(eventType)) return { kind: 'ended' };
    const stood = told.reduce<Standing | undefined>((before, record) => standingAfter(record, before), undefined);
    const { envelopeId, acceptedAt, hash, series, webhookId } = named;
    const record = await this.envelopes.find({ envelopeId, eventType, acceptedAt });
    const now = Date.now();
    if (record?.envelope.contentHash === hash)
      return { kind: 'found', delivery: standing(newJob({ id: webhookId, partnerId }, record, series), stood, now) };
    const bodyless = { ...named, v: 1 as const, partnerId, eventType, attempts: 0, body: '' };
    return { kind: 'bodyless', delivery: standing(bodyless, stood, now) };
  }

  /**
   * Returns the attempts of the delivery, oldest first. Each has the time at which the next attempt was due, which may have been
   * made later.
   */
  async #told(id: string, { envelopeId, acceptedAt }: Delivery): Promise<AttemptRecord[]> {
    const own = (found: readonly AttemptRecord[]): AttemptRecord[] => found.filter((each) => each.deliveryId === id);
    const near = own(await this.attempts.find({ envelopeId, moments: [acceptedAt] }));
    if (near.some(({ final }) => final)) return near;
    const since = Date.parse(near.at(-1)?.nextAt ?? '') || acceptedAt;
    return [...near, ...own(await this.attempts.find({ envelopeId, moments: [], since }))];
  }

  async #isDelivered({ envelopeId, webhookId, series, acceptedAt }: Delivery): Promise<boolean> {
    const lines = await this.history.ofEnvelope(envelopeId, [webhookId]);
    return lines.some((line) => line.series === series && line.acceptedAt === acceptedAt);
  }
}
