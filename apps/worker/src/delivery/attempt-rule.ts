import { Inject, Injectable } from '@nestjs/common';
import { RedisWebhookView, type Webhook } from '@relay/webhooks';
import { Breakers } from './breakers.js';
import { UnopenedWebhooks } from './unopened-webhooks.js';

/** Decides whether a straight delivery may be attempted now. */
@Injectable()
export class AttemptRule {
  constructor(
    @Inject(RedisWebhookView) private readonly webhooks: Pick<RedisWebhookView, 'find'>,
    @Inject(Breakers) private readonly breakers: Pick<Breakers, 'lookAgainAt'>,
    @Inject(UnopenedWebhooks) private readonly unopened: Pick<UnopenedWebhooks, 'notBefore'>,
  ) {}

  /**
   * Returns undefined if the delivery may be attempted, otherwise the epoch milliseconds at which its job is due. If the
   * registration was changed or deleted since the match, the job is due at once and reads the registration again, so the old
   * address gets neither body nor credential.
   */
  notBefore(webhook: Webhook): number | undefined {
    const now = Date.now();
    const isCurrent = this.webhooks.find(webhook.id)?.version === webhook.version;
    if (!isCurrent) return now;
    return this.unopened.notBefore(webhook, now) ?? this.breakers.lookAgainAt(webhook, now);
  }
}
