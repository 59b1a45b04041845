import type { Audit } from '@relay/audit';
import type { OperationsEvent } from '@relay/events';
import type { Notices } from '@relay/notices';
import type { LogView } from '@relay/redis';
import { reasonOf, type ThrottledLog } from '@relay/telemetry';
import { CommandResult, type WebhookCommand } from '@relay/webhooks';
import type { ChangeBudget } from './change-budget.js';

/**
 * The registrations with an audit: `relay.operations` gets an event when a webhook is disabled by its partner, and when one is
 * active again, by whichever request. It follows the change, as do the notices to its partner that the change has left. Every change is charged to its partner before it is appended.
 */
export class AuditedWebhooks implements LogView<WebhookCommand> {
  constructor(
    private readonly view: LogView<WebhookCommand>,
    private readonly audit: Pick<Audit, 'report'>,
    private readonly log: ThrottledLog,
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
    const result = await this.view.change(command);
    const applied = CommandResult.safeParse(result).data;
    if (command.kind === 'update' && applied?.kind === 'updated') {
      void this.notices.publish();
      const { partnerId, eventType, changes } = command;
      const facts = { partnerId, webhookId: applied.id, eventType };
      if (applied.enabled !== undefined)
        await this.#tell('webhook.enabled', facts, { disabledReason: applied.enabled });
      if (changes.disabledReason === 'partner') await this.#tell('webhook.disabled', facts, { reason: 'partner' });
    }
    return result;
  }

  async #tell(event: OperationsEvent, facts: { readonly partnerId: string }, why: object): Promise<void> {
    try {
      await this.audit.report({ event, ...facts, ...why });
    } catch (error) {
      this.log.warn(
        'webhook.untold',
        'A webhook was enabled or disabled, but Kafka did not take the record of it for relay.operations',
        { event, ...facts, reason: reasonOf(error) },
      );
    }
  }
}
