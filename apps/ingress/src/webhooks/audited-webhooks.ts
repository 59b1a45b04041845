import { Inject, Injectable } from '@nestjs/common';
import { Audit, type AskingPartner, type ReportedChange } from '@relay/audit';
import { presentReply, presentRequest, spentHeaders, type FastifyReply, type SharedQuota } from '@relay/http';
import type { Notices } from '@relay/notices';
import { ProblemError } from '@relay/problem';
import type { LogView } from '@relay/redis';
import { reasonOf, ThrottledLog } from '@relay/telemetry';
import { CommandResult, type WebhookCommand } from '@relay/webhooks';
import { askedBy } from '../access/partner-routes.js';

/** The request that is handled, for what is called deep within it, and for the work that goes on after its answer. */
@Injectable()
export class PresentRequest {
  /** Its answer, until it is sent. */
  get reply(): FastifyReply | undefined {
    return presentReply();
  }

  get askedBy(): AskingPartner | undefined {
    const request = presentRequest();
    return request?.caller && askedBy(request);
  }
}

const SPENT = 'You have changed webhooks too often for now.';

/**
 * The budget of changes of one partner over all processes: the registry's log keeps every change. Only a change that is about to be
 * appended is charged, hence deep within a request, whose answer carries the rest of the budget.
 */
export class ChangeBudget {
  constructor(
    private readonly quota: Pick<SharedQuota, 'quota' | 'admit' | 'consume'>,
    private readonly present: Pick<PresentRequest, 'reply'>,
  ) {}

  /** @throws ProblemError `too-many-requests` */
  async charge(partnerId: string): Promise<void> {
    const { reply } = this.present;
    // Work that continues after the answer has no headers to set.
    if (reply !== undefined) return this.quota.admit(partnerId, reply, SPENT);
    const { isSpent, resetS } = await this.quota.consume(partnerId);
    if (isSpent)
      throw new ProblemError('too-many-requests', SPENT, { headers: spentHeaders(this.quota.quota, resetS) });
  }
}

/** What a change can write that its partner has named. Of a URL its origin is told: partners put keys into path and query. */
const MEMBERS = ['endPointUrl', 'credential', 'endPointName', 'endPointDesc'] as const;

/** Tells `relay.operations` of changes of webhooks by their partners, and names the operator by whose link one came. */
@Injectable()
export class WebhookAudit {
  constructor(
    @Inject(Audit) private readonly audit: Pick<Audit, 'report'>,
    @Inject(PresentRequest) private readonly present: Pick<PresentRequest, 'askedBy'>,
    private readonly log: ThrottledLog,
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

/**
 * The registrations with an audit. Every change is charged to its partner and told before it is appended. That a webhook is active
 * again is told after it, by whichever change, as are the notices to its partner that the change has left.
 */
export class AuditedWebhooks implements LogView<WebhookCommand> {
  readonly current = (): Promise<void> => this.view.current();
  readonly catchUp = (): Promise<void> => this.view.catchUp();
  readonly settled = (): Promise<void> => this.view.settled();

  constructor(
    private readonly view: LogView<WebhookCommand>,
    private readonly audit: Pick<WebhookAudit, 'before' | 'after'>,
    private readonly budget: Pick<ChangeBudget, 'charge'>,
    private readonly notices: Pick<Notices, 'publish'>,
  ) {}

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
