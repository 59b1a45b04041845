import type { OnApplicationBootstrap, OnModuleDestroy } from '@nestjs/common';
import type { WaitingCount, WaitingJobs } from '@relay/jobs';
import { reasonOf, type ThrottledLog } from '@relay/telemetry';

const COUNT_MS = 250;
const NOTHING: WaitingCount = { deliveries: 0, bytes: 0 };

/** Queued deliveries of each webhook, of all workers, as of the last count. */
export class WaitingCounts implements OnApplicationBootstrap, OnModuleDestroy {
  #counts = new Map<string, WaitingCount>();
  #partners = new Map<string, WaitingCount>();
  #deliveries = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly jobs: Pick<WaitingJobs, 'counts'>,
    private readonly partnerOf: (webhookId: string) => string | undefined,
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
      const partnerId = this.partnerOf(webhookId);
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
