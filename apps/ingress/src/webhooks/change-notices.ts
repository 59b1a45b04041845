import type { Notices } from '@relay/notices';
import type { CommandResult, WebhookCommand, WebhookStore } from '@relay/webhooks';

/** Tells a partner of changes of its webhooks, by whomever they were made: who has stolen its secret would tell nobody. */
export class ChangeNotices {
  constructor(
    private readonly webhooks: Pick<WebhookStore, 'deliverable'>,
    private readonly notices: Pick<Notices, 'tell'>,
  ) {}

  /** Follows the change, and never rejects. */
  async tell(command: WebhookCommand, result: CommandResult): Promise<void> {
    if (command.kind !== 'update' || result.kind !== 'updated') return;
    const { disabledReason: reason, oldSecretUntil } = command.changes;
    if (result.enabled === undefined && typeof reason !== 'string' && typeof oldSecretUntil !== 'number') return;
    const webhook = await this.webhooks.deliverable(command.partnerId, result.id).catch(() => undefined);
    if (webhook === undefined) return;
    if (result.enabled !== undefined)
      await this.notices.tell('webhook.enabled', webhook, { disabledReason: result.enabled });
    if (reason === 'partner') await this.notices.tell('webhook.disabled', webhook, { reason });
    if (typeof oldSecretUntil === 'number')
      await this.notices.tell('secret.rotated', webhook, { oldSecretUntil: new Date(oldSecretUntil).toISOString() });
  }
}
