import type { Notices } from '@relay/notices';
import type { LogView } from '@relay/redis';
import { CommandResult, type WebhookCommand } from '@relay/webhooks';
import type { ChangeBudget } from './change-budget.js';
import type { WebhookAudit } from './webhook-audit.js';

/**
 * The registrations with an audit. Every change is charged to its partner and told before it is appended. That a webhook is active
 * again is told after it, by whichever change, as are the notices to its partner that the change has left.
 */
export class AuditedWebhooks implements LogView<WebhookCommand> {
  constructor(
    private readonly view: LogView<WebhookCommand>,
    private readonly audit: Pick<WebhookAudit, 'before' | 'after'>,
    private readonly budget: Pick<ChangeBudget, 'charge'>,
    private readonly notices: Pick<Notices, 'publish'>,
  ) {}

  current(): Promise<void> {
    return this.view.current();
  }

  catchUp(): Promise<void> {
    return this.view.catchUp();
  }

  settled(): Promise<void> {
    return this.view.settled();
  }

  async change(command: WebhookCommand): Promise<unknown> {
    await this.budget.charge('webhook' in command ? command.webhook.partnerId : command.partnerId);
    await this.audit.before(command);
    const result = await this.view.change(command);
    const applied = CommandResult.safeParse(result).data;
    if (command.kind === 'update' && applied?.kind === 'updated') {
      void this.notices.publish();
      await this.audit.after(command, applied);
    }
    return result;
  }
}
