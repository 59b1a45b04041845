import { Inject, Injectable } from '@nestjs/common';
import { Audit, type AskingPartner, type ReportedChange } from '@relay/audit';
import { presentReply, presentRequest, spentHeaders, type FastifyReply, type SharedQuota } from '@relay/http';
import type { Notices } from '@relay/notices';
import { ProblemError } from '@relay/problem';
import type { LogView } from '@relay/redis';
import { reasonOf, ThrottledLog } from '@relay/telemetry';
import { CommandResult, type WebhookCommand } from '@relay/webhooks';
import { askedBy } from '../access/partner-routes.js';

/** The present request, for code that is called deep within it, and for work that outlasts its answer. */
@Injectable()
export class PresentRequest {
  /** The answer to the request, until it is sent. */
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
 * The budget of changes of one partner over all processes, because each change is a record of the registry. A change is charged
 * just before it is appended, deep within a request, and the answer to the request carries the rest of the budget.
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

/** Members that a partner can change. Only the origin of a changed URL is reported: partners put keys into path and query. */
const MEMBERS = ['endPointUrl', 'credential', 'endPointName', 'endPointDesc'] as const;

/** Reports changes of webhooks by their partners on `relay.operations`, with the operator who made the portal link, if any. */
@Injectable()
export class WebhookAudit {
  constructor(
    @Inject(Audit) private readonly audit: Pick<Audit, 'report'>,
    @Inject(PresentRequest) private readonly present: Pick<PresentRequest, 'askedBy'>,
    private readonly log: ThrottledLog,
  ) {}

  /** Reports a change before it is made. @throws ProblemError `unavailable` if Kafka does not take the record */
  async before(command: WebhookCommand): Promise<void> {
    const told = toldOf(command);
    if (told !== undefined) await this.audit.report({ ...told, ...this.present.askedBy });
  }

  /** Reports that a change has made a webhook active again, which only the result of the change shows. */
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

/** Returns the report of a change; undefined if only the state changes, by the relay itself or as `after` reports. */
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
 * The registrations with an audit. Every change is charged to its partner and reported before it is appended. After any change
 * that makes a webhook active again, that is reported too, and the notices of the change to its partner are published.
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
