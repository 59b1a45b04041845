import { Inject, Injectable, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { WaitingJobs, type WaitingCount } from '@relay/jobs';
import { reasonOf, ThrottledLog } from '@relay/telemetry';
import { RedisWebhookView, type Webhook } from '@relay/webhooks';

const COUNT_MS = 250;
const NOTHING: WaitingCount = { deliveries: 0, bytes: 0 };

/** The numbers of queued deliveries of each webhook and partner, over all workers, as of the last count. */
@Injectable()
export class WaitingCounts implements OnApplicationBootstrap, OnModuleDestroy {
  #counts = new Map<string, WaitingCount>();
  #partners = new Map<string, WaitingCount>();
  #deliveries = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    @Inject(WaitingJobs) private readonly jobs: Pick<WaitingJobs, 'counts'>,
    @Inject(RedisWebhookView) private readonly webhooks: Pick<RedisWebhookView, 'find'>,
    private readonly log: ThrottledLog,
  ) {}

  onApplicationBootstrap(): void {
    this.#timer = setInterval(() => void this.read(), COUNT_MS).unref();
  }

  onModuleDestroy(): void {
    clearInterval(this.#timer);
  }

  of(webhookId: string): WaitingCount {
    return this.#counts.get(webhookId) ?? NOTHING;
  }

  ofPartner(partnerId: string): WaitingCount {
    return this.#partners.get(partnerId) ?? NOTHING;
  }

  /** Number of queued deliveries of all webhooks together. */
  get deliveries(): number {
    return this.#deliveries;
  }

  /** Counts a new job of a webhook at once. The next count from Redis includes the job and replaces this number. */
  added(webhookId: string, bytes: number): void {
    this.#counts.set(webhookId, sumOf(this.of(webhookId), { deliveries: 1, bytes }));
  }

  /** Reads the counts from Redis. While Redis does not answer, the last counts apply. */
  async read(): Promise<void> {
    try {
      this.#counts = await this.jobs.counts();
    } catch (error) {
      this.#away(error);
      return;
    }
    this.#partners = new Map();
    this.#deliveries = 0;
    for (const [webhookId, waiting] of this.#counts) {
      this.#deliveries += waiting.deliveries;
      const partnerId = this.webhooks.find(webhookId)?.partnerId;
      if (partnerId !== undefined) this.#partners.set(partnerId, sumOf(this.ofPartner(partnerId), waiting));
    }
  }

  #away(error: unknown): void {
    this.log.warn('parking.uncounted', 'The worker cannot count queued deliveries of webhooks; the last count holds', {
      reason: reasonOf(error),
    });
  }
}

const sumOf = (a: WaitingCount, b: WaitingCount): WaitingCount => ({
  deliveries: a.deliveries + b.deliveries,
  bytes: a.bytes + b.bytes,
});

/** Limits for all webhooks of one partner together: this multiple of the limit of one webhook, or this number of bytes. */
const PARTNER_LIMIT = 10;
const PARTNER_BYTES = 32 * 1024 * 1024;
/** If a partner is over its limit, each of its webhooks that uses at least this share of the limit is parked. */
const SHARE = 0.01;
/**
 * Number of deliveries that stay in the queue while their webhook gets no attempts, so that one of them can be sent as the
 * probe. If the whole queue is half full, a webhook without attempts is parked as soon as it has this many queued
 * deliveries, even if other webhooks have filled the queue.
 */
const PROBES = 10;

export interface ParkingLimits {
  /** Number of queued deliveries at which a webhook is parked. */
  readonly perWebhook: number;
  /** Number of queued deliveries of all webhooks together above which reading pauses. */
  readonly total: number;
}

/** Decides when a webhook is parked and when it is caught up. */
export class ParkingRule {
  constructor(
    private readonly waiting: Pick<WaitingCounts, 'of' | 'ofPartner' | 'deliveries'>,
    private readonly limits: ParkingLimits,
    private readonly isBarred: (webhook: Webhook) => boolean,
    /** Returns the serialized notice that the webhook is parked and has `waiting` queued deliveries. */
    private readonly line: (webhook: Webhook, waiting: number) => string | undefined,
  ) {}

  /**
   * Returns the notice to the partner whose webhook is being parked; undefined if the webhook is disabled, because the
   * partner already knows that.
   */
  notice(webhook: Webhook): string | undefined {
    return webhook.status === 'active' ? this.line(webhook, this.waiting.of(webhook.id).deliveries) : undefined;
  }

  /** Whether the webhook must be parked, so that its further envelopes wait in the log. */
  isDue(webhook: Webhook): boolean {
    const { id, partnerId, status } = webhook;
    if (status === 'disabled') return true;
    const own = this.waiting.of(id);
    if (own.deliveries === 0) return false;
    const { perWebhook, total } = this.limits;
    if (own.deliveries >= perWebhook) return true;
    const of = this.waiting.ofPartner(partnerId);
    if (of.bytes >= PARTNER_BYTES && own.bytes >= PARTNER_BYTES * SHARE) return true;
    // A webhook that gets attempts is parked at a higher number, because a few retries over the next 24 h are normal for it.
    const isBarred = this.isBarred(webhook);
    const isOver = of.deliveries >= perWebhook * PARTNER_LIMIT;
    if (isOver && own.deliveries >= (isBarred ? PROBES : perWebhook * PARTNER_LIMIT * SHARE)) return true;
    // Reading pauses for all webhooks when the queue is full. A webhook without attempts is therefore parked when it is half
    // full.
    return isBarred && own.deliveries >= PROBES && this.waiting.deliveries >= total / 2;
  }

  /** Returns how many deliveries of the webhook may be queued while it is caught up; 0 if it must not be caught up. */
  room(webhook: Webhook): number {
    const { partnerId, status } = webhook;
    if (status === 'disabled') return 0;
    const { perWebhook } = this.limits;
    const isTight = this.isBarred(webhook) || this.waiting.ofPartner(partnerId).bytes >= PARTNER_BYTES / 2;
    return isTight ? Math.min(PROBES, perWebhook) : Math.ceil(perWebhook / 2);
  }
}
