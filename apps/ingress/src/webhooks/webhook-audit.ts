import type { Audit, ReportedChange } from '@relay/audit';
import { reasonOf, type ThrottledLog } from '@relay/telemetry';
import type { CommandResult, WebhookCommand } from '@relay/webhooks';
import type { PresentRequest } from './present-request.js';

/** What a change can write that its partner has named. Of a URL its origin is told: partners put keys into path and query. */
const MEMBERS = ['endPointUrl', 'credential', 'endPointName', 'endPointDesc'] as const;

/** Tells `relay.operations` of changes of webhooks by their partners, and names the operator by whose link one came. */
export class WebhookAudit {
  constructor(
    private readonly audit: Pick<Audit, 'report'>,
    private readonly present: Pick<PresentRequest, 'askedBy'>,
    private readonly log: Pick<ThrottledLog, 'warn'>,
  ) {}

  /** Tells what is about to be changed. @throws ProblemError `unavailable` when Kafka does not take the record */
  async before(command: WebhookCommand): Promise<void> {
    const told = toldOf(command);
    if (told !== undefined) await this.audit.report({ ...told, ...this.present.askedBy });
  }

  /** Tells of a webhook that a change has made active again. Which one that is only the change itself knows. */
  async after({ partnerId, eventType }: Update, { id, enabled }: Updated): Promise<void> {
    if (enabled === undefined) return;
    const facts = { event: 'webhook.enabled', partnerId, webhookId: id, eventType } as const;
    try {
      await this.audit.report({ ...facts, disabledReason: enabled, ...this.present.askedBy });
    } catch (error) {
      this.log.warn(
        'webhook.untold',
        'A webhook was enabled, but Kafka did not take the record of it for relay.operations',
        { ...facts, reason: reasonOf(error) },
      );
    }
  }
}

type Update = Extract<WebhookCommand, { kind: 'update' }>;
type Updated = Extract<CommandResult, { kind: 'updated' }>;

/** Undefined where nothing but the state changes: what the relay does by itself, and what `after` tells. */
function toldOf(command: WebhookCommand): ReportedChange | undefined {
  if (command.kind === 'register') {
    const { id: webhookId, partnerId, eventType, origin } = command.webhook;
    return { event: 'webhook.registered', partnerId, webhookId, eventType, origin };
  }
  const { partnerId, id: webhookId, eventType } = command;
  const facts = { partnerId, webhookId, eventType };
  if (command.kind === 'delete') return { event: 'webhook.deleted', ...facts };
  const { changes } = command;
  if (changes.disabledReason === 'partner') return { event: 'webhook.disabled', ...facts, reason: 'partner' };
  if (changes.secrets !== undefined) return { event: 'secret.rotated', ...facts };
  const members = MEMBERS.filter((name) => name in changes);
  if (members.length === 0) return undefined;
  return {
    event: 'webhook.changed',
    ...facts,
    members,
    ...(changes.origin === undefined ? {} : { origin: changes.origin }),
  };
}
