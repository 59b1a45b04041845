import { Audit } from '@relay/audit';
import { RedisClientStore, type ClientCommand } from '@relay/identity';
import { ENVELOPE_TYPES } from '@relay/events';
import { NoticeLines, Notices } from '@relay/notices';
import { type ShownStatus, withShownStatus } from '@relay/progress';
import { disableTold, RedisWebhookStore, RedisWebhookView, type Webhook, type WebhookStore } from '@relay/webhooks';
import { keyringOf } from '../keyring.adapter.js';
import { assertKind } from '../clients/clients.adapter.js';
import { withRegistry } from '../registry.adapter.js';
import type { Shell } from '../shell.js';
import { counted } from '../table.js';

/** The actor that `relay.operations` names for commands of an operator. */
const ACTOR = { operator: 'relay webhooks' };

interface Registrations {
  /** Oldest first. */
  readonly all: readonly { readonly webhook: Webhook; readonly status: ShownStatus }[];
  readonly items: Pick<WebhookStore, 'find' | 'disable' | 'enable' | 'remove'>;
  readonly audit: Audit;
  readonly notices: Notices;
}

/** Ids by result; `unchanged`: the webhook was in that state already. */
export interface Report {
  readonly changed: readonly string[];
  readonly unchanged: readonly string[];
  readonly missing: readonly string[];
}

/** Opens the webhooks of all partners, or of one. @throws Error when the partner does not exist */
export function withWebhooks<T>(
  shell: Shell,
  partner: string | undefined,
  work: (registrations: Registrations) => Promise<T> | T,
): Promise<T> {
  const keyring = keyringOf(shell);
  return withRegistry(shell, async ({ redis, shards, registry, publisher, settings }) => {
    if (partner !== undefined)
      await assertKind(new RedisClientStore(redis, registry.of<ClientCommand>('client')), 'partner', partner);
    const view = new RedisWebhookView(redis, registry.of('webhook'), keyring);
    await view.reload();
    const found = ENVELOPE_TYPES.flatMap((type) => view.matching(type, partner === undefined ? [] : [partner]));
    return work({
      all: await withShownStatus(
        shards,
        found.toSorted((a, b) => a.createdAt - b.createdAt),
      ),
      items: new RedisWebhookStore(redis, registry.of('webhook'), keyring),
      audit: new Audit(publisher, settings.KAFKA_TOPIC_PREFIX, Date.now),
      notices: new Notices(new NoticeLines(redis), publisher, settings.KAFKA_TOPIC_PREFIX, {
        warn: (_event, message) => shell.note(`warning: ${message}`),
      }),
    });
  });
}

/** Changes one webhook after the other, each after a report on `relay.operations`. */
export function changeWebhooks(
  shell: Shell,
  what: 'disable' | 'delete',
  { ids, partner }: { readonly ids: readonly string[]; readonly partner: string | undefined },
): Promise<Report> {
  return withWebhooks(shell, partner, async (registrations) => {
    const byId = new Map(registrations.all.map(({ webhook }) => [webhook.id, webhook]));
    const wanted = partner === undefined ? new Set(ids.map((id) => id.toLowerCase())) : byId.keys();
    const report = { changed: [] as string[], unchanged: [] as string[], missing: [] as string[] };
    try {
      for (const id of wanted) {
        const webhook = byId.get(id);
        report[webhook === undefined ? 'missing' : await CHANGES[what](registrations, webhook)].push(id);
      }
    } catch (error) {
      if (report.changed.length > 0)
        shell.note(
          `${counted(report.changed.length, 'webhook')} changed by now: the same command continues with the others`,
        );
      throw error;
    }
    return report;
  });
}

const CHANGES = {
  async disable({ items, audit, notices }: Registrations, webhook: Webhook): Promise<keyof Report> {
    const done = await disableTold(items, webhook, () =>
      audit.report({ event: 'webhook.disabled', ...ACTOR, ...factsOf(webhook), reason: 'operator' }),
    );
    if (done === 'changed') await notices.publish();
    return done;
  },
  async delete({ items, audit }: Registrations, webhook: Webhook): Promise<keyof Report> {
    await audit.report({ event: 'webhook.deleted', ...ACTOR, ...factsOf(webhook) });
    const { kind } = await items.remove(webhook.partnerId, webhook.id);
    return kind === 'deleted' ? 'changed' : 'missing';
  },
};

const factsOf = ({ id: webhookId, partnerId, eventType }: Webhook): object => ({ webhookId, partnerId, eventType });
