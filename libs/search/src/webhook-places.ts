import type { IndexedAttempt } from './attempt-row.js';

/** The part of the view of webhooks that tells where one is. */
export interface PlacedWebhooks {
  find(id: string): { readonly partnerId: string; readonly origin: string } | undefined;
  refresh(): Promise<void>;
}

const REFRESH_MS = 1_000;

/** Adds to attempts what their records leave out: the host of the endpoint, and the partner of an end without an attempt. */
export class WebhookPlaces {
  #refreshedAt = -Infinity;

  constructor(private readonly webhooks: PlacedWebhooks) {}

  /** Without Redis, or of a deleted webhook, attempts stay as they are. */
  async of(attempts: readonly IndexedAttempt[]): Promise<IndexedAttempt[]> {
    const isStale = attempts.length > 0 && performance.now() - this.#refreshedAt > REFRESH_MS;
    if (isStale) {
      this.#refreshedAt = performance.now();
      await this.webhooks.refresh().catch(() => undefined);
    }
    return attempts.map((attempt) => {
      const webhook = this.webhooks.find(attempt.webhookId);
      if (webhook === undefined) return attempt;
      return { ...attempt, partnerId: attempt.partnerId ?? webhook.partnerId, host: hostOf(webhook.origin) };
    });
  }
}

const hostOf = (origin: string): string | undefined => (URL.canParse(origin) ? new URL(origin).hostname : undefined);
