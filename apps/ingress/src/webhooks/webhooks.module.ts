import { Inject, Injectable, Module } from '@nestjs/common';
import type { ReportedChange } from '@relay/audit';
import { presentReply, SharedQuota, spentHeaders } from '@relay/http';
import { Keyring } from '@relay/keyring';
import { NoticeLines, Notices } from '@relay/notices';
import { ProblemError } from '@relay/problem';
import { Publisher } from '@relay/publishing';
import { Shards, type LogView } from '@relay/redis';
import { RegistryView } from '@relay/registry';
import { INGRESS_CONFIG, type IngressConfig } from '@relay/settings';
import { Log, reasonOf, ThrottledLog } from '@relay/telemetry';
import { CommandResult, ENABLED, OPTIONAL_NAMES, UNVERIFIED, WebhookStore, type WebhookCommand } from '@relay/webhooks';
import { PartnerAudit } from '../access/partner-routes.js';
import { CredentialPartners, Listings } from './listings.js';
import { EndpointVerification, TestDeliveries } from './test-deliveries.js';
import { WebhookWaiting } from './webhook-problems.js';
import { DraftTestController, WebhookController, WebhooksController } from './webhooks.controller.js';

const SPENT = 'You have changed webhooks too often for now.';

/**
 * The budget for the changes of one partner, counted over all processes. It exists because each change is a record of the
 * registry. A change is charged just before it is appended, deep within a request. The answer to the request says how much
 * of the budget is left.
 */
@Injectable()
class ChangeBudget {
  readonly #quota: SharedQuota;

  constructor({ global }: Shards, @Inject(INGRESS_CONFIG) { WEBHOOK_CHANGES: points }: IngressConfig) {
    this.#quota = new SharedQuota(global, { name: 'webhook-changes', points, windowMs: 1_000_000 });
  }

  /** @throws ProblemError `too-many-requests` */
  async charge(partnerId: string): Promise<void> {
    const reply = presentReply();
    // Work that continues after the answer can no longer set headers.
    if (reply !== undefined) return this.#quota.admit(partnerId, reply, SPENT);
    const { isSpent, resetS } = await this.#quota.consume(partnerId);
    if (isSpent)
      throw new ProblemError('too-many-requests', SPENT, { headers: spentHeaders(this.#quota.quota, resetS) });
  }
}

/**
 * The registrations with an audit. Every change is charged to its partner and reported before it is appended. After an
 * update, the notices about it are published, and if the update has made the webhook active again, this is reported too.
 */
@Injectable()
export class AuditedWebhooks implements LogView<WebhookCommand> {
  readonly current = (): Promise<void> => this.#view.current();
  readonly catchUp = (): Promise<void> => this.#view.catchUp();
  readonly settled = (): Promise<void> => this.#view.settled();
  readonly #view: LogView<WebhookCommand>;

  constructor(
    @Inject(RegistryView) registry: Pick<RegistryView, 'of'>,
    @Inject(PartnerAudit) private readonly audit: Pick<PartnerAudit, 'reportChange'>,
    @Inject(ChangeBudget) private readonly budget: Pick<ChangeBudget, 'charge'>,
    @Inject(Notices) private readonly notices: Pick<Notices, 'publish'>,
    private readonly log: ThrottledLog,
  ) {
    this.#view = registry.of<WebhookCommand>('webhook');
  }

  /**
   * @throws ProblemError `too-many-requests`, or `unavailable` if Kafka does not take the report. In both cases, nothing is
   * changed
   */
  async change(command: WebhookCommand): Promise<unknown> {
    await this.budget.charge('webhook' in command ? command.webhook.partnerId : command.partnerId);
    const told = toldOf(command);
    if (told !== undefined) await this.audit.reportChange(told);
    const result = await this.#view.change(command);
    const applied = CommandResult.safeParse(result).data;
    if (command.kind === 'update' && applied?.kind === 'updated') {
      void this.notices.publish();
      await this.#tellEnabled(command, applied);
    }
    return result;
  }

  /** Reports that a change has made a webhook active again. Only the result of the change shows this. */
  async #tellEnabled({ partnerId, eventType }: Update, { id, enabled }: Updated): Promise<void> {
    if (enabled === undefined) return;
    const facts = { event: 'webhook.enabled', partnerId, webhookId: id, eventType } as const;
    try {
      await this.audit.reportChange({ ...facts, disabledReason: enabled });
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

/**
 * Members that a partner can change. Only the origin of a changed URL is reported, because partners put keys into path and
 * query.
 */
const MEMBERS = ['endPointUrl', 'credential', ...OPTIONAL_NAMES] as const;

/**
 * Returns the report of a change; undefined for a change of the state that the relay makes itself, or that `#tellEnabled`
 * reports.
 */
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

@Module({
  exports: [WebhookStore, WebhookWaiting],
  controllers: [WebhooksController, DraftTestController, WebhookController],
  providers: [
    AuditedWebhooks,
    ChangeBudget,
    CredentialPartners,
    EndpointVerification,
    Listings,
    TestDeliveries,
    WebhookWaiting,
    { provide: Notices, useFactory: noticesOf, inject: [Shards, Publisher, Log, INGRESS_CONFIG] },
    { provide: WebhookStore, useFactory: webhooksOf, inject: [Shards, AuditedWebhooks, Keyring, INGRESS_CONFIG] },
  ],
})
export class WebhooksModule {}

function noticesOf({ global }: Shards, publisher: Publisher, log: Log, config: IngressConfig): Notices {
  return new Notices(new NoticeLines(global), publisher, config.KAFKA_TOPIC_PREFIX, new ThrottledLog(log, 60_000));
}

function webhooksOf(
  { global }: Shards,
  registry: AuditedWebhooks,
  keyring: Keyring,
  config: IngressConfig,
): WebhookStore {
  return new WebhookStore(global, registry, keyring, {
    perPartner: config.MAX_WEBHOOKS_PER_PARTNER,
    perOrigin: config.WEBHOOKS_PER_ORIGIN,
    fresh: config.VERIFY_ENDPOINTS ? UNVERIFIED : ENABLED,
  });
}
