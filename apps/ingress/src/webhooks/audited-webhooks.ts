import type { Audit } from '@relay/audit';
import type { LogView } from '@relay/redis';
import { reasonOf, type ThrottledLog } from '@relay/telemetry';
import { CommandResult, type WebhookCommand } from '@relay/webhooks';
import type { ChangeBudget } from './change-budget.js';

/**
 * The registrations with an audit: `relay.operations` gets an event when a disabled webhook is active again, by whichever request,
 * and only after the change. Every change is charged to its partner before it is appended.
 */
export class AuditedWebhooks implements LogView<WebhookCommand> {
  constructor(
    private readonly view: LogView<WebhookCommand>,
    private readonly audit: Pick<Audit, 'report'>,
    private readonly log: ThrottledLog,
    private readonly budget: Pick<ChangeBudget, 'charge'>,
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
    if (command.kind === 'update' && applied?.kind === 'updated' && applied.enabled !== undefined)
      await this.#tell(command, applied.id, applied.enabled);
    return result;
  }

  async #tell({ partnerId, eventType }: { partnerId: string; eventType: string }, webhookId: string, was: string) {
    const facts = { partnerId, webhookId, eventType };
    try {
      await this.audit.report({ event: 'webhook.enabled', ...facts, disabledReason: was });
    } catch (error) {
      this.log.warn(
        'webhook.untold',
        'A webhook was enabled again, but Kafka did not take the record of it for relay.operations',
        { ...facts, reason: reasonOf(error) },
      );
    }
  }
}
