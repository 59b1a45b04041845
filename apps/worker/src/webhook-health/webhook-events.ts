import { Inject, Injectable } from '@nestjs/common';
import { operationsRecord, type NoticeFacts } from '@relay/events';
import { Notices } from '@relay/notices';
import type { Webhook } from '@relay/webhooks';
import type { EventReporter } from '../reporting/event-reporter.js';
import { WEBHOOKS_REPORTER } from '../reporting/reporters.js';

/** Reports events of a webhook: to operators on `relay.operations`, to its partner by a notice. */
@Injectable()
export class WebhookEvents {
  constructor(
    @Inject(WEBHOOKS_REPORTER) private readonly operations: Pick<EventReporter, 'report'>,
    @Inject(Notices) private readonly notices: Pick<Notices, 'line' | 'publish'>,
  ) {}

  /** Returns the line of the notice that every attempt fails, for the script that stores the warning. */
  failing(webhook: Webhook, facts: NoticeFacts<'webhook.failing'>): string | undefined {
    return this.notices.line('webhook.failing', webhook, facts);
  }

  /** Reports a change that is stored with its notice. */
  tell<T extends 'webhook.failing' | 'webhook.disabled'>(type: T, webhook: Webhook, facts: NoticeFacts<T>): void {
    const { id: webhookId, partnerId } = webhook;
    this.operations.report(webhookId, operationsRecord(type, { webhookId, partnerId, ...facts }, Date.now()));
    void this.notices.publish();
  }
}
