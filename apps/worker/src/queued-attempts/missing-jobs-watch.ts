import { Inject, Injectable, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { type Delivery, parseDeliveryId } from '@relay/delivery';
import { type AttemptRecord } from '@relay/events';
import type { RedisDeliveryHistory } from '@relay/history';
import { newJob, type QueuedDelivery, WaitingJobs } from '@relay/jobs';
import type { AttemptFinder, EnvelopeFinder } from '@relay/kafka';
import { RetryQueue, standing, type Standing, standingAfter } from '@relay/retry';
import { reasonOf, ThrottledLog } from '@relay/telemetry';
import type { RedisWebhookView } from '@relay/webhooks';
import { QueuedJobs } from './queued-jobs.js';

/** State of a delivery that is counted as queued but was found to have no job. */
export type LostJob =
  /** The job was rebuilt from the log. */
  | { readonly kind: 'found'; readonly delivery: QueuedDelivery }
  /** The job was rebuilt without its body, because the log no longer has the body. */
  | { readonly kind: 'bodyless'; readonly delivery: QueuedDelivery }
  | { readonly kind: 'ended' }
  /** The delivery has a job or a dead letter by now. */
  | { readonly kind: 'stored' };

/**
 * Rebuilds jobs that Redis has lost from Kafka's log. The log also contains the attempts of a delivery, which show whether
 * the delivery has ended. Each search reads only a limited part of the log. If it finds no attempt, the delivery starts
 * again with its first attempt.
 */
export class LostJobs {
  constructor(
    private readonly webhooks: Pick<RedisWebhookView, 'refresh' | 'find'>,
    private readonly history: Pick<RedisDeliveryHistory, 'ofEnvelope'>,
    private readonly queue: Pick<RetryQueue, 'existing'>,
    private readonly attempts: Pick<AttemptFinder, 'find'>,
    private readonly envelopes: Pick<EnvelopeFinder, 'find'>,
  ) {}

  /** @throws Error if Redis or Kafka does not answer */
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
    if (eventType === '') return { kind: 'ended' };
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
   * Returns the recorded attempts of the delivery, oldest first. A failed attempt records when the next one was due. The
   * next attempt may have been made much later, so a second search covers all records from that time on.
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

/** Interval in ms between recounts. Each recount covers one webhook, and the webhooks take turns. */
const LOOK_MS = 5_000;

/**
 * Recounts the queued deliveries of one webhook after the other, so that a count that a crash left too high keeps no webhook
 * parked. Restores from the log the jobs that Redis has lost.
 */
@Injectable()
export class MissingJobsWatch implements OnApplicationBootstrap, OnModuleDestroy {
  #timer: NodeJS.Timeout | undefined;
  #looking = false;
  #recounted = '';

  constructor(
    @Inject(WaitingJobs) private readonly waiting: Pick<WaitingJobs, 'counts' | 'recount'>,
    @Inject(LostJobs) private readonly lost: Pick<LostJobs, 'find'>,
    @Inject(RetryQueue) private readonly queue: Pick<RetryQueue, 'add'>,
    @Inject(QueuedJobs) private readonly jobs: Pick<QueuedJobs, 'bodyLost' | 'uncount'>,
    private readonly log: ThrottledLog,
  ) {}

  onApplicationBootstrap(): void {
    this.#timer = setInterval(() => void this.look(), LOOK_MS).unref();
  }

  onModuleDestroy(): void {
    clearInterval(this.#timer);
  }

  async look(): Promise<void> {
    if (this.#looking) return;
    this.#looking = true;
    try {
      const ids = [...(await this.waiting.counts()).keys()].toSorted();
      const next = ids.find((id) => id > this.#recounted) ?? ids[0];
      this.#recounted = next ?? '';
      if (next !== undefined) await this.#recount(next);
    } catch (error) {
      this.#unsearched(error);
    } finally {
      this.#looking = false;
    }
  }

  async #recount(webhookId: string): Promise<void> {
    for (;;) {
      const { relisted, missing } = await this.waiting.recount(webhookId);
      let restored = relisted;
      for (const id of missing)
        if (await this.#takeBack(id).catch((error: unknown) => this.#unsearched(error, id))) restored += 1;
      if (restored > 0)
        this.log.warn(
          'queue.restored',
          'Redis lost jobs of waiting deliveries; the worker put them back into the queue',
          { webhookId, jobs: restored },
        );
      if (missing.length === 0) return;
    }
  }

  /**
   * Handles a delivery that has no job. Returns true if the job was lost and is now stored again, as a job or dead letter.
   */
  async #takeBack(id: string): Promise<boolean> {
    const lost = await this.lost.find(id);
    switch (lost.kind) {
      case 'found':
        await this.queue.add(lost.delivery);
        return true;
      case 'bodyless':
        await this.jobs.bodyLost(lost.delivery.job);
        await this.jobs.uncount(id);
        return true;
      case 'ended':
        await this.jobs.uncount(id);
        return false;
      case 'stored':
        return false;
      default:
        return lost satisfies never;
    }
  }

  #unsearched(error: unknown, jobId?: string): false {
    this.log.warn(
      'queue.unsearched',
      'A store does not answer what became of missing jobs; a worker asks again within two minutes',
      { ...(jobId === undefined ? {} : { jobId }), reason: reasonOf(error) },
    );
    return false;
  }
}
