import type { OnApplicationBootstrap, OnModuleDestroy } from '@nestjs/common';
import type { WaitingCount, WaitingJobs } from '@relay/jobs';
import { reasonOf, type ThrottledLog } from '@relay/telemetry';

const COUNT_MS = 250;
/** How often one webhook is counted again. */
const RECOUNT_MS = 5_000;
const NOTHING: WaitingCount = { deliveries: 0, bytes: 0 };

/** Queued deliveries of each webhook, of all workers, as of the last count. */
export class WaitingCounts implements OnApplicationBootstrap, OnModuleDestroy {
  #counts = new Map<string, WaitingCount>();
  #partners = new Map<string, WaitingCount>();
  #deliveries = 0;
  #timers: NodeJS.Timeout[] = [];
  #recounted: string | undefined;

  constructor(
    private readonly jobs: Pick<WaitingJobs, 'counts' | 'recount'>,
    private readonly partnerOf: (webhookId: string) => string | undefined,
    private readonly log: ThrottledLog,
  ) {}

  onApplicationBootstrap(): void {
    this.#timers = [
      setInterval(() => void this.read(), COUNT_MS).unref(),
      setInterval(() => void this.#recount(), RECOUNT_MS).unref(),
    ];
  }

  onModuleDestroy(): void {
    for (const timer of this.#timers) clearInterval(timer);
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

  /** Counts. While Redis is away the last count holds. */
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

  /** Counts the webhooks again one after the other, so that no leftover of a crash keeps a webhook parked. */
  async #recount(): Promise<void> {
    const ids = [...this.#counts.keys()].toSorted();
    const next = ids.find((id) => id > (this.#recounted ?? '')) ?? ids[0];
    this.#recounted = next;
    if (next !== undefined) await this.jobs.recount(next).catch((error: unknown) => this.#away(error));
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
