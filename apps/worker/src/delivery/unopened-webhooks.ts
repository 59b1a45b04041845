import { Injectable } from '@nestjs/common';
import { CannotOpen } from '@relay/keyring';
import { reasonOf, ThrottledLog } from '@relay/telemetry';
import type { OpenedWebhook, Webhook } from '@relay/webhooks';

/** Delay in ms before a webhook is opened again. A key comes only with a new process, or the partner sends a new credential. */
const LOOK_AGAIN_MS = 30_000;

/** `lastFailure` of a delivery that waits for a key. */
export const UNOPENED = 'no key in ENCRYPTION_KEYS of the worker opens the credential of the webhook';

/**
 * Webhooks whose credential or signing secret no key of this worker opens. The worker makes no attempt for them, so none counts as
 * failed. Their deliveries wait; those of other webhooks do not.
 */
@Injectable()
export class UnopenedWebhooks {
  readonly #found = new Map<string, { readonly version: number; readonly until: number }>();

  constructor(private readonly log: ThrottledLog) {}

  has({ id, version }: Pick<Webhook, 'id' | 'version'>): boolean {
    return this.#found.get(id)?.version === version;
  }

  /** Epoch milliseconds at which a delivery of the webhook is due again; undefined when it may be tried. */
  notBefore(webhook: Pick<Webhook, 'id' | 'version'>, now: number): number | undefined {
    const until = this.has(webhook) ? (this.#found.get(webhook.id)?.until ?? 0) : 0;
    // The times are spread, because a webhook may have many deliveries.
    return now < until ? until + Math.round(LOOK_AGAIN_MS * Math.random()) : undefined;
  }

  /**
   * Opens a webhook.
   * @returns if no key opens it, epoch milliseconds at which to come again; undefined if Redis is away or the registration has
   *   changed
   */
  async open(webhook: Webhook): Promise<OpenedWebhook | number | undefined> {
    const at = this.notBefore(webhook, Date.now());
    if (at !== undefined) return at;
    try {
      const opened = await webhook.opened();
      this.#found.delete(webhook.id);
      return opened;
    } catch (error) {
      if (!(error instanceof CannotOpen)) return undefined;
      const { id, partnerId, version } = webhook;
      const now = Date.now();
      this.#found.set(id, { version, until: now + LOOK_AGAIN_MS });
      this.log.warn('delivery.unreadable_credential', 'Deliveries of a webhook wait: no key opens its credential', {
        webhookId: id,
        partnerId,
        reason: reasonOf(error),
      });
      return this.notBefore(webhook, now);
    }
  }
}
