import type { ShownStatus } from '@relay/progress';
import { Option, type Command } from 'commander';
import { documented } from '../documented.js';
import { operationsOf } from '../operations.js';
import { answer, type Shell } from '../shell.js';
import { counted, table } from '../table.js';
import { listed, type Listed } from './listed.js';

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
      const { partner, status } = options;
      const webhooks = (await listed(operationsOf(shell), { partner, status })).map(shownOf);
      const count = counted(webhooks.length, 'webhook');
      answer(shell, options, webhooks, webhooks.length === 0 ? count : `${table(webhooks.map(rowOf))}\n${count}`);
    });
  documented(command, 'webhooks list --partner partner_0Zt1… --status active');
}

const shownOf = ({ id, partnerId, eventType, origin, status, disabledReason, createdAt }: Listed) => ({
  id,
  partnerId,
  eventType,
  origin,
  status,
  disabledReason,
  createdAt,
});

const rowOf = ({ id, partnerId, eventType, origin, status, disabledReason, createdAt }: Shown): string[] => [
  id,
  partnerId,
  eventType,
  origin,
  createdAt,
  disabledReason === null ? status : `${status} (${disabledReason})`,
];
