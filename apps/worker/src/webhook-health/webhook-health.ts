import { Inject, Injectable, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { type NoticeFacts, operationsRecord } from '@relay/events';
import { Notices } from '@relay/notices';
import { reasonOf, ThrottledLog } from '@relay/telemetry';
import { RedisWebhookView, type Webhook, WebhookStore } from '@relay/webhooks';
import { type EventReporter, WEBHOOKS_REPORTER } from '../reporting/event-reporter.js';
import { type Failing, FailingWebhooks } from './failing-webhooks.adapter.js';

/** Reports events of a webhook to operators on `relay.operations`, and to its partner as notices. */
@Injectable()
export class WebhookEvents {
  constructor(
    @Inject(WEBHOOKS_REPORTER) private readonly operations: Pick<EventReporter, 'report'>,
    @Inject(Notices) private readonly notices: Pick<Notices, 'line' | 'publish'>,
  ) {}

  /** Returns the serialized notice that every attempt fails. The script that stores the warning also stores this notice. */
  failing(webhook: Webhook, facts: NoticeFacts<'webhook.failing'>): string | undefined {
    return this.notices.line('webhook.failing', webhook, facts);
  }

  /** Reports a change to operators, and publishes the notice that was stored together with the change. */
  tell<T extends 'webhook.failing' | 'webhook.disabled'>(type: T, webhook: Webhook, facts: NoticeFacts<T>): void {
    const { id: webhookId, partnerId } = webhook;
    this.operations.report(webhookId, operationsRecord(type, { webhookId, partnerId, ...facts }, Date.now()));
    void this.notices.publish();
  }
}

/** Time in ms after which a webhook is disabled if all of its attempts fail. */
export const FAILING_MS = 5 * 86_400_000;
const WARN_AT = [90, 70, 50] as const;
const READ_MS = 1_000;

/** Result of an attempt. `gone` means that the endpoint answered 410. */
export type AttemptEnd = 'delivered' | 'failed' | 'gone';

/**
 * Disables webhooks that must no longer be called: at once if the endpoint answers 410, and after some warnings if all
 * attempts within five days have failed. No envelope is lost, because further envelopes are parked. If Redis refuses a step,
 * the step is tried again with the next attempt.
 */
@Injectable()
export class WebhookHealth implements OnApplicationBootstrap, OnModuleDestroy {
  #known: Map<string, Failing> = new Map();
  readonly #disabling = new Set<string>();
  #timer: NodeJS.Timeout | undefined;

  constructor(
    @Inject(FailingWebhooks) private readonly failing: Pick<FailingWebhooks, 'all' | 'begin' | 'warned' | 'end'>,
    @Inject(WebhookStore) private readonly items: Pick<WebhookStore, 'disable'>,
    @Inject(RedisWebhookView) private readonly webhooks: Pick<RedisWebhookView, 'find'>,
    @Inject(WebhookEvents) private readonly events: Pick<WebhookEvents, 'failing' | 'tell'>,
    private readonly log: ThrottledLog,
  ) {}

  onApplicationBootstrap(): void {
    this.#timer = setInterval(() => void this.#try('read', () => this.read()), READ_MS).unref();
  }

  onModuleDestroy(): void {
    clearInterval(this.#timer);
  }

  /**
   * Reads the failing webhooks from Redis and sends the warnings that are due. Attempts also send warnings, but a webhook
   * may have so few deliveries that it has no attempt while a warning is due.
   */
  async read(now = Date.now()): Promise<void> {
    this.#known = await this.failing.all();
    for (const [id, known] of this.#known) {
      const webhook = this.webhooks.find(id);
      if (webhook?.status === 'active' && webhook.version === known.version) this.#warnIfDue(webhook, known, now);
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
    // The webhook was changed or enabled after it began to fail, so the five days begin again.
    const isNewer = known !== undefined && version > known.version;
    if (known === undefined || isNewer) {
      this.#known.set(id, { since: now, warned: 0, version });
      return void this.#try('begin', () => this.failing.begin(id, now, version, isNewer));
    }
    if (version < known.version) return undefined; // an attempt of an older version
    if (now - known.since >= FAILING_MS) return void this.#disable(webhook, 'failing');
    this.#warnIfDue(webhook, known, now);
  }

  #warnIfDue(webhook: Webhook, { since, warned }: Failing, now: number): void {
    const percent = WARN_AT.find((share) => ((now - since) / FAILING_MS) * 100 >= share);
    if (percent === undefined || percent <= warned) return;
    this.#known.set(webhook.id, { since, warned: percent, version: webhook.version });
    const facts = { failingSince: new Date(since).toISOString(), percent };
    void this.#try('warned', async () => {
      const notice = this.events.failing(webhook, facts);
      if (await this.failing.warned(webhook.id, percent, notice)) this.#warn(webhook, facts);
    });
  }

  #warn(webhook: Webhook, facts: NoticeFacts<'webhook.failing'>): void {
    this.log.warn(
      'webhook.failing',
      'Every attempt of a webhook fails, and five days of failures disable it; ask its partner to repair the endpoint',
      { webhookId: webhook.id, partnerId: webhook.partnerId, ...facts },
    );
    this.events.tell('webhook.failing', webhook, facts);
  }

  /** Disables a webhook. If the webhook was changed after the attempt, nothing is done, and the next attempt decides. */
  async #disable(webhook: Webhook, reason: 'gone' | 'failing'): Promise<void> {
    const { id, partnerId, version } = webhook;
    if (this.#disabling.has(id)) return;
    this.#disabling.add(id);
    await this.#try('disable', async () => {
      const { kind } = await this.items.disable(partnerId, id, reason, [version]);
      if (kind !== 'updated') return;
      this.log.warn('webhook.disabled', 'A webhook was disabled; its envelopes wait in the log until it is enabled', {
        webhookId: id,
        partnerId,
        reason,
      });
      this.events.tell('webhook.disabled', webhook, { reason });
      this.#known.delete(id);
      await this.failing.end(id);
    });
    this.#disabling.delete(id);
  }

  async #try(step: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.log.warn('webhooks.unjudged', 'The worker could not store the failures of a webhook and tries again', {
        step,
        reason: reasonOf(error),
      });
    }
  }
}
