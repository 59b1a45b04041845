import type { ShownStatus } from '@relay/progress';
import type { Webhook } from '@relay/webhooks';
import { Option, type Command } from 'commander';
import { documented } from '../documented.js';
import { answer, type Shell } from '../shell.js';
import { counted, table, timeOf } from '../table.js';
import { withWebhooks } from './registrations.adapter.js';

interface Options {
  json?: boolean;
  partner?: string;
  status?: ShownStatus;
}

type Shown = ReturnType<typeof shownOf>;

export function defineListWebhooks(group: Command, shell: Shell): void {
  const command = group
    .command('list')
    .description('list the webhooks of all partners, oldest first')
    .option('--partner <id>', 'only of this partner')
    .addOption(new Option('--status <status>', 'only of this status').choices(['active', 'parked', 'disabled']))
    .action(async (options: Options) => {
      const webhooks = await withWebhooks(shell, options.partner, ({ all }) =>
        all.filter(({ status }) => options.status === undefined || status === options.status).map(shownOf),
      );
      const count = counted(webhooks.length, 'webhook');
      answer(shell, options, webhooks, webhooks.length === 0 ? count : `${table(webhooks.map(rowOf))}\n${count}`);
    });
  documented(command, 'webhooks list --partner partner_0Zt1… --status active');
}

/** Omits path and query of the URL: partners put keys there. */
const shownOf = ({ webhook, status }: { webhook: Webhook; status: ShownStatus }) => {
  const { id, partnerId, eventType, origin, disabledReason = null } = webhook;
  return { id, partnerId, eventType, origin, status, disabledReason, createdAt: timeOf(webhook.createdAt) };
};

const rowOf = ({ id, partnerId, eventType, origin, status, disabledReason, createdAt }: Shown): string[] => [
  id,
  partnerId,
  eventType,
  origin,
  createdAt,
  disabledReason === null ? status : `${status} (${disabledReason})`,
];
