import { operationsRecord } from '@relay/events';
import { reasonOf, type ThrottledLog } from '@relay/telemetry';
import type { Webhook, WebhookItems } from '@relay/webhooks';
import type { EventReporter } from '../reporting/event-reporter.js';
import type { Failing, FailingWebhooks } from './failing-webhooks.adapter.js';

/** Nothing but failures for so long disables a webhook. */
export const FAILING_MS = 5 * 86_400_000;
const WARN_AT = [90, 70, 50] as const;
const READ_MS = 1_000;

/** How an attempt ended, as far as its webhook is concerned. */
export type AttemptEnd = 'delivered' | 'failed' | 'gone';

/**
 * Disables webhooks that must not be called any more: at once when the endpoint answers 410, and after five days of nothing
 * but failures, of which is warned before. Nothing is lost by it: what comes is parked. It runs beside the deliveries; what
 * it cannot store is tried again with the next attempt.
 */
export class WebhookHealth {
  #known: Map<string, Failing> = new Map();
  readonly #disabling = new Set<string>();
  #timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly failing: Pick<FailingWebhooks, 'all' | 'begin' | 'warned' | 'end'>,
    private readonly items: Pick<WebhookItems, 'disable'>,
    private readonly find: (webhookId: string) => Webhook | undefined,
    private readonly operations: Pick<EventReporter, 'tell'>,
    private readonly log: ThrottledLog,
  ) {}

  start(): void {
    this.#timer = setInterval(() => void this.#try('read', () => this.read()), READ_MS).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** Warns by itself: what little comes for a webhook may fail at the beginning of its five days and at their end. */
  async read(now = Date.now()): Promise<void> {
    this.#known = await this.failing.all();
    for (const [id, known] of this.#known) {
      const webhook = this.find(id);
      if (webhook?.status === 'active' && webhook.version === (known.version ?? webhook.version))
        this.#warnIfDue(webhook, known, now);
    }
  }

  attempted(webhook: Webhook, end: AttemptEnd, now: number): void {
    const { id, version } = webhook;
    if (end === 'gone') return void this.#disable(webhook, 'gone');
    const known = this.#known.get(id);
    if (end === 'delivered') {
      if (known === undefined) return;
      this.#known.delete(id);
      return void this.#try('end', () => this.failing.end(id));
    }
    // It was changed or enabled since it began to fail: what it is now has its own five days.
    const isNewer = known?.version !== undefined && version > known.version;
    if (known === undefined || isNewer) {
      this.#known.set(id, { since: now, warned: 0, version });
      return void this.#try('begin', () => this.failing.begin(id, now, version, isNewer));
    }
    if (known.version !== undefined && version < known.version) return undefined; // an attempt of what it was before
    if (now - known.since >= FAILING_MS) return void this.#disable(webhook, 'failing');
    this.#warnIfDue(webhook, known, now);
  }

  #warnIfDue(webhook: Webhook, { since, warned }: Failing, now: number): void {
    const percent = WARN_AT.find((share) => ((now - since) / FAILING_MS) * 100 >= share);
    if (percent === undefined || percent <= warned) return;
    this.#known.set(webhook.id, { since, warned: percent, version: webhook.version });
    void this.#try('warned', async () => {
      if (await this.failing.warned(webhook.id, percent)) this.#warn(webhook, since, percent);
    });
  }

  #warn({ id: webhookId, partnerId }: Webhook, since: number, percent: number): void {
    const facts = { webhookId, partnerId, failingSince: new Date(since).toISOString(), percent };
    this.log.warn(
      'webhook.failing',
      'A webhook does nothing but fail and is disabled after five days of it; ask its partner to mend the endpoint',
      facts,
    );
    this.operations.tell(webhookId, operationsRecord('webhook.failing', facts, Date.now()));
  }

  /** Unless it was changed since the attempt: then the next one decides. */
  async #disable({ id, partnerId, version }: Webhook, reason: 'gone' | 'failing'): Promise<void> {
    if (this.#disabling.has(id)) return;
    this.#disabling.add(id);
    await this.#try('disable', async () => {
      const { kind } = await this.items.disable(partnerId, id, reason, version);
      if (kind !== 'updated') return;
      const facts = { webhookId: id, partnerId, reason };
      this.log.warn(
        'webhook.disabled',
        'A webhook was disabled; what comes for it waits in the log until it is enabled or updated',
        facts,
      );
      this.operations.tell(id, operationsRecord('webhook.disabled', facts, Date.now()));
      this.#known.delete(id);
      await this.failing.end(id);
    });
    this.#disabling.delete(id);
  }

  async #try(step: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.log.warn('webhooks.unjudged', 'Whether webhooks do nothing but fail could not be kept; tried again', {
        step,
        reason: reasonOf(error),
      });
    }
  }
}
