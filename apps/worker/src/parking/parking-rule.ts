import { Inject, Injectable, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { WaitingJobs, type WaitingCount } from '@relay/jobs';
import { reasonOf, ThrottledLog } from '@relay/telemetry';
import { RedisWebhookView, type Webhook } from '@relay/webhooks';

const COUNT_MS = 250;
const NOTHING: WaitingCount = { deliveries: 0, bytes: 0 };

/** Queued deliveries of each webhook, of all workers, as of the last count. */
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

  /** Queued deliveries of all webhooks together. */
  get deliveries(): number {
    return this.#deliveries;
  }

  /** Adds a job of a webhook until the next count includes it. */
  added(webhookId: string, bytes: number): void {
    this.#counts.set(webhookId, sumOf(this.of(webhookId), { deliveries: 1, bytes }));
  }

  /** Reads the counts. While Redis is away, the last counts apply. */
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

/** Limits of all webhooks of a partner together: this many times the limit of one webhook, or this many bytes. */
const PARTNER_LIMIT = 10;
const PARTNER_BYTES = 32 * 1024 * 1024;
/** A webhook with this share of a partner's limit is parked if its partner is over that limit. */
const SHARE = 0.01;
/**
 * Deliveries that stay in the queue while their webhook gets no attempts, so that one of them can be the probe. A webhook with
 * this many is parked if the whole queue is half full, whichever webhooks have filled it.
 */
const PROBES = 10;

export interface ParkingLimits {
  /** Waiting deliveries of a webhook above which it is parked. */
  readonly perWebhook: number;
  /** Waiting deliveries of all webhooks above which reading pauses. */
  readonly total: number;
}

/** Decides when a webhook is parked and when it is caught up. */
export class ParkingRule {
  constructor(
    private readonly waiting: Pick<WaitingCounts, 'of' | 'ofPartner' | 'deliveries'>,
    private readonly limits: ParkingLimits,
    private readonly isBarred: (webhook: Webhook) => boolean,
    /** Returns the line of the notice that a webhook is parked while `waiting` of its deliveries wait. */
    private readonly line: (webhook: Webhook, waiting: number) => string | undefined,
  ) {}

  /**
   * Returns the notice to the partner of a webhook that is parked now; undefined for a disabled webhook, whose partner knows it
   * already.
   */
  notice(webhook: Webhook): string | undefined {
    return webhook.status === 'active' ? this.line(webhook, this.waiting.of(webhook.id).deliveries) : undefined;
  }

  /** Whether further envelopes of the webhook wait in the log. */
  isDue(webhook: Webhook): boolean {
    const { id, partnerId, status } = webhook;
    if (status === 'disabled') return true;
    const own = this.waiting.of(id);
    if (own.deliveries === 0) return false;
    const { perWebhook, total } = this.limits;
    if (own.deliveries >= perWebhook) return true;
    const of = this.waiting.ofPartner(partnerId);
    if (of.bytes >= PARTNER_BYTES && own.bytes >= PARTNER_BYTES * SHARE) return true;
    // A webhook that answers is parked late: its waiting deliveries may be a few retries of the next 24 h.
    const isBarred = this.isBarred(webhook);
    const isOver = of.deliveries >= perWebhook * PARTNER_LIMIT;
    if (isOver && own.deliveries >= (isBarred ? PROBES : perWebhook * PARTNER_LIMIT * SHARE)) return true;
    // The limit is half of the queue: deliveries to endpoints that get no attempts must never stop the reading for all others.
    return isBarred && own.deliveries >= PROBES && this.waiting.deliveries >= total / 2;
  }

  /** Returns how many deliveries of the webhook may wait or run while it is caught up; 0 if it may not be caught up. */
  room(webhook: Webhook): number {
    const { partnerId, status } = webhook;
    if (status === 'disabled') return 0;
    const { perWebhook } = this.limits;
    const isTight = this.isBarred(webhook) || this.waiting.ofPartner(partnerId).bytes >= PARTNER_BYTES / 2;
    return isTight ? Math.min(PROBES, perWebhook) : Math.ceil(perWebhook / 2);
  }
}
